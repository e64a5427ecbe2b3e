// A process that runs a part of a test one instruction at a time. So the test can do something
// between any two instructions, or kill the process there.
#pragma once

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <stdexcept>

namespace tessera::guard {

class Stepped {
  public:
    // Stops before the first instruction of `body`, in a fork.
    explicit Stepped(const std::function<void()>& body) : pid_(fork()) {
        if (pid_ < 0) throw std::runtime_error("fork");
        if (pid_ == 0) {
            ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
            raise(SIGSTOP);
            body();
            _exit(testing::Test::HasFailure() ? 1 : 0);
        }
        wait_for_it();
    }
    ~Stepped() { kill_hard(); }
    Stepped(const Stepped&) = delete;
    Stepped& operator=(const Stepped&) = delete;

    // False if the process has ended.
    bool step() {
        if (has_ended_ || ptrace(PTRACE_SINGLESTEP, pid_, nullptr, nullptr) != 0) return false;
        wait_for_it();
        return !has_ended_;
    }
    void step(int count) {
        while (count-- > 0 && step()) {
        }
    }
    // Runs to the next stop that `body` requests by raise(SIGSTOP).
    void run_to_stop() {
        if (!has_ended_ && ptrace(PTRACE_CONT, pid_, nullptr, nullptr) == 0) wait_for_it();
    }
    void finish() {
        while (!has_ended_) {
            if (ptrace(PTRACE_CONT, pid_, nullptr, nullptr) != 0) return;
            wait_for_it();
        }
    }
    void kill_hard() {
        if (has_ended_) return;
        kill(pid_, SIGKILL);
        while (!has_ended_)
            wait_for_it();
    }

  private:
    // Signals are not passed on, because the instruction that raised one would raise it again and
    // again.
    void wait_for_it() {
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
