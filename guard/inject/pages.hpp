// Pages, of the size that this machine has: 4 KiB on x86-64, 4 or 64 KiB on arm64.
#pragma once

#include <link.h>
#include <unistd.h>

namespace tessera::guard {

// The whole pages, each of `size` bytes, that contain the addresses from `begin` to before `end`.
struct PageRange {
    ElfW(Addr) begin;
    ElfW(Addr) end;
};
constexpr PageRange pages_of(ElfW(Addr) begin, ElfW(Addr) end, ElfW(Addr) size) {
    return {begin & ~(size - 1), (end + size - 1) & ~(size - 1)};
}

// The part that the loader makes read-only after it has bound an object (PT_GNU_RELRO). It begins
// and ends with a page; the rest of the last page stays writable.
constexpr PageRange sealed_of(ElfW(Addr) begin, ElfW(Addr) bytes, ElfW(Addr) size) {
    return {begin & ~(size - 1), (begin + bytes) & ~(size - 1)};
}

inline ElfW(Addr) page_size() {
    const long size = sysconf(_SC_PAGESIZE);
    return size > 0 ? static_cast<ElfW(Addr)>(size) : 4096;
}

}  // namespace tessera::guard
