// A file of the region, open and in memory.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>

#include "guard/region/uncancelled.hpp"

namespace tessera::guard {

// Closed again in any case. What is no file keeps nobody waiting.
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

// All of a file of exactly that size; null where it is of another (errno is 0), or cannot be
// mapped. Its size by its end: fstat has no version that both an old and a new glibc know.
inline void* map_whole(int fd, std::size_t size, int protection) {
    if (lseek(fd, 0, SEEK_END) != static_cast<off_t>(size)) {
        errno = 0;
        return nullptr;
    }
    void* pages = mmap(nullptr, size, protection, MAP_SHARED, fd, 0);
    return pages != MAP_FAILED ? pages : nullptr;
}

}  // namespace tessera::guard
