// A file of the region, open and mapped.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>

#include "guard/region/uncancelled.hpp"

namespace tessera::guard {

// A file that is open until the end of the scope. Opening anything but a regular file does not
// block.
class Opened {
  public:
    Opened(const char* path, int flags) : fd_(open(path, flags | O_CLOEXEC | O_NONBLOCK)) {}
    ~Opened() {
        if (fd_ >= 0) close(fd_);
    }
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;

    [[nodiscard]] int fd() const { return fd_; }

  private:
    const Uncancelled uncancelled_;  // until it is closed
    int fd_;
};

// Maps all of a file of exactly that size. Returns null if the size differs (errno is 0), or if the
// file cannot be mapped. The size comes from lseek: fstat has no symbol version that both an old
// and a new glibc know.
inline void* map_whole(int fd, std::size_t size, int protection, int flags = MAP_SHARED) {
    if (lseek(fd, 0, SEEK_END) != static_cast<off_t>(size)) {
        errno = 0;
        return nullptr;
    }
    void* pages = mmap(nullptr, size, protection, flags, fd, 0);
    return pages != MAP_FAILED ? pages : nullptr;
}

}  // namespace tessera::guard
