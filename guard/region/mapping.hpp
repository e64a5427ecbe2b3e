// A file of the region in memory.
#pragma once

#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>

namespace tessera::guard {

// All of a file of exactly that size; null where it is of another, or cannot be mapped. Its size by
// its end: fstat has no version that both an old and a new glibc know.
inline void* map_whole(int fd, std::size_t size, int protection) {
    if (lseek(fd, 0, SEEK_END) != static_cast<off_t>(size)) return nullptr;
    void* pages = mmap(nullptr, size, protection, MAP_SHARED, fd, 0);
    return pages != MAP_FAILED ? pages : nullptr;
}

}  // namespace tessera::guard
