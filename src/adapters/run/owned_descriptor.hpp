// A file descriptor that is closed when its owner ends.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <initializer_list>
#include <utility>

namespace tessera {

class OwnedDescriptor {
  public:
    OwnedDescriptor() = default;
    explicit OwnedDescriptor(int fd) : fd_(fd) {}
    OwnedDescriptor(OwnedDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    OwnedDescriptor& operator=(OwnedDescriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    OwnedDescriptor(const OwnedDescriptor&) = delete;
    OwnedDescriptor& operator=(const OwnedDescriptor&) = delete;
    ~OwnedDescriptor() { reset(); }

    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] bool is_open() const { return fd_ >= 0; }
    void reset() {
        if (fd_ >= 0) ::close(fd_);
        fd_ = -1;
    }

  private:
    int fd_ = -1;
};

// From now on these descriptors read nothing, and what is written to them is lost.
inline void replace_by_null(std::initializer_list<int> descriptors) {
    const OwnedDescriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!null.is_open()) return;
    for (const int descriptor : descriptors)
        ::dup2(null.get(), descriptor);
}

}  // namespace tessera
