// A child process that runs a part of a test. A driver is loaded once per process, so each test of
// it needs processes of its own, and most need several.
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
    // The next number from the other side; 0 if it is gone. Waits without a deadline: ctest has
    // one.
    std::uint64_t receive();

  private:
    int read_fd_;
    int write_fd_;
};

class Peer {
  public:
    // Runs `body` in a forked child. Its gtest expectations count: join() is 0 only if all held.
    explicit Peer(const std::function<void(Wire&)>& body);
    ~Peer();
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    Wire& wire() { return wire_; }
    pid_t pid() const { return pid_; }

    int join();
    void kill_hard();  // kill -9, and waits until it is gone; does nothing if it is gone already

  private:
    int to_child_[2];
    int from_child_[2];
    Wire wire_{-1, -1};
    pid_t pid_ = -1;
};

// Runs `body` in a child and fails the test if an expectation in it does.
void in_child(const std::function<void()>& body);

}  // namespace gpusim
