// A forked child process that runs a part of a test. A process loads a driver only once, so each
// test of a driver needs new processes, and most tests need several.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>

namespace gpusim {

// One end of the wire between a test and its child. Numbers travel whole and in order.
class Wire {
  public:
    Wire(int read_fd, int write_fd) : read_fd_(read_fd), write_fd_(write_fd) {}

    void send(std::uint64_t number = 1);
    // The next number from the other side; 0 if that process is gone. Waits without a timeout; the
    // test's own timeout in ctest ends it.
    std::uint64_t receive();

  private:
    int read_fd_;
    int write_fd_;
};

class ChildProcess {
  public:
    // Runs `body` in a forked child.
    explicit ChildProcess(const std::function<void(Wire&)>& body);
    ~ChildProcess();  // kills the child if it was not joined
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    Wire& wire() { return wire_; }
    pid_t pid() const { return pid_; }

    // Waits until the child exits. 0: all gtest expectations in `body` held; 1: one failed; -1: a
    // signal killed the child, or it was joined before.
    int join();
    // How the child ended, for messages. Call it after join().
    const char* ending() const;
    void kill_hard();  // SIGKILL, then join(); does nothing if the child was joined before

  private:
    int to_child_[2];
    int from_child_[2];
    Wire wire_{-1, -1};
    pid_t pid_ = -1;
    int signal_ = 0;  // that killed it
};

// Runs `body` in a child and fails the test if an expectation in it does. `line` is the caller's,
// for messages.
void in_child(const std::function<void()>& body, int line = __builtin_LINE());

}  // namespace gpusim
