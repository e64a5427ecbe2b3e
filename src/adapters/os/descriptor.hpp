// A file descriptor that is closed with its owner.
#pragma once

#include <unistd.h>

#include <cerrno>

namespace tessera {

class Descriptor {
  public:
    explicit Descriptor(int fd) : fd_(fd) {}  // below 0: none
    ~Descriptor() { close(); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    [[nodiscard]] int get() const { return fd_; }
    void close() {
        if (fd_ >= 0) ::close(fd_);
        fd_ = -1;
    }
    // Closes what it has, and keeps errno: `fd` may be the result of a call that failed.
    void replace(int fd) {
        const int error = errno;
        close();
        fd_ = fd;
        errno = error;
    }

  private:
    int fd_;
};

}  // namespace tessera
