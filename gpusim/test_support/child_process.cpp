#include "gpusim/test_support/child_process.hpp"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>

namespace gpusim {

void Wire::send(std::uint64_t number) {
    if (write(write_fd_, &number, sizeof number) != sizeof number) {
        throw std::runtime_error("the other side of the wire is gone");
    }
}

std::uint64_t Wire::receive() {
    std::uint64_t number = 0;
    return read(read_fd_, &number, sizeof number) == sizeof number ? number : 0;
}

ChildProcess::ChildProcess(const std::function<void(Wire&)>& body) {
    if (pipe(to_child_) != 0 || pipe(from_child_) != 0) throw std::runtime_error("pipe");
    std::fflush(nullptr);
    pid_ = fork();
    if (pid_ < 0) throw std::runtime_error("fork");
    if (pid_ > 0) {
        close(to_child_[0]);
        close(from_child_[1]);
        wire_ = Wire(from_child_[0], to_child_[1]);
        return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(to_child_[1]);
    close(from_child_[0]);
    Wire wire(to_child_[0], from_child_[1]);
    try {
        body(wire);
    } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
    }
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
}

ChildProcess::~ChildProcess() {
    if (pid_ > 0) kill_hard();
    close(to_child_[1]);
    close(from_child_[0]);
}

// Without a child, the pid -1 would mean all processes of the machine, to waitpid() and to kill().
int ChildProcess::join() {
    if (pid_ <= 0) return -1;
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    if (WIFSIGNALED(status)) signal_ = WTERMSIG(status);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

const char* ChildProcess::ending() const {
    return signal_ != 0 ? strsignal(signal_) : "it exited";
}

void ChildProcess::kill_hard() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    join();
}

void in_child(const std::function<void()>& body, int line) {
    ChildProcess child([&](Wire&) { body(); });
    const int status = child.join();
    EXPECT_EQ(status, 0) << (status == 1 ? "an expectation failed in the child of line "
                                         : "no expectation failed, but so ended the child of line ")
                         << line << ": " << child.ending();
}

}  // namespace gpusim
