// Runs a part of a test in a forked child under ptrace, one instruction at a time. The test can
// change shared state between any two instructions, or kill the child there. Threads that the child
// starts are not stopped. Use it on the thread that made it.
#pragma once

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <stdexcept>

namespace tessera::guard {

// The test fails if `body` has failed expectations, exits with another status than 0, or raises a
// signal other than SIGTRAP and SIGSTOP.
class SteppedProcess {
  public:
    // Stops before `body` begins. Throws std::runtime_error if there can be no process.
    explicit SteppedProcess(const std::function<void()>& body) : pid_(fork()) {
        if (pid_ < 0) throw std::runtime_error("fork");
        if (pid_ == 0) {
            ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
            raise(SIGSTOP);
            body();
            _exit(testing::Test::HasFailure() ? 1 : 0);
        }
        wait_for_stop();
    }
    ~SteppedProcess() { kill_hard(); }
    SteppedProcess(const SteppedProcess&) = delete;
    SteppedProcess& operator=(const SteppedProcess&) = delete;

    // False if the process has ended.
    bool step() {
        if (has_ended_ || ptrace(PTRACE_SINGLESTEP, pid_, nullptr, nullptr) != 0) return false;
        wait_for_stop();
        return !has_ended_;
    }
    void step(int count) {
        while (count-- > 0 && step()) {
        }
    }
    // Runs to the next stop that `body` requests by raise(SIGSTOP), or to its end.
    void run_to_stop() {
        if (!has_ended_ && ptrace(PTRACE_CONT, pid_, nullptr, nullptr) == 0) wait_for_stop();
    }
    // Runs to the end of `body`.
    void finish() {
        while (!has_ended_) {
            if (ptrace(PTRACE_CONT, pid_, nullptr, nullptr) != 0) return;
            wait_for_stop();
        }
    }
    void kill_hard() {
        if (has_ended_) return;
        kill(pid_, SIGKILL);
        while (!has_ended_)
            wait_for_stop();
    }

  private:
    // No signal is delivered to the child. An instruction that faults would fault again without
    // end, so the child is killed.
    void wait_for_stop() {
        int status = 0;
        has_ended_ = waitpid(pid_, &status, __WALL) != pid_ || !WIFSTOPPED(status);
        if (has_ended_) {
            if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
                ADD_FAILURE() << "exit status " << WEXITSTATUS(status);
        } else if (WSTOPSIG(status) != SIGTRAP && WSTOPSIG(status) != SIGSTOP) {
            ADD_FAILURE() << "signal " << WSTOPSIG(status);
            kill_hard();
        }
    }

    pid_t pid_;
    bool has_ended_ = false;
};

}  // namespace tessera::guard
