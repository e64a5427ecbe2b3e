#include "guard/region/named_descriptor.hpp"

#include <fcntl.h>

#include <cstdio>

#include "guard/region/mapping.hpp"

namespace tessera::guard {
namespace {

// Bits of an offset in a file: the key, the number of the open file with that key, the length.
constexpr unsigned kLengthBits = 24;
constexpr unsigned kCopyBits = 6;
constexpr std::int64_t kFirst = std::int64_t{1} << (kLengthBits + kCopyBits);
constexpr std::int64_t kEnd = INT64_MAX;

struct Run {
    std::int64_t start;
    std::int64_t end;
};

struct flock lock_of(const Run& run) {
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = run.start;
    lock.l_len = run.end - run.start;
    return lock;
}

std::int64_t start_of(std::uint64_t key) {
    return static_cast<std::int64_t>(key << (kLengthBits + kCopyBits));
}

bool set_lock(int fd, std::uint64_t key, int copy, AllocationUnits units) {
    const std::int64_t start = start_of(key) | static_cast<std::int64_t>(copy) << kLengthBits;
    struct flock lock = lock_of({start, start + units});
    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

// A lock of another open file within the run; empty if there is none.
Run find_others(int fd, const Run& run) {
    struct flock lock = lock_of(run);
    if (fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK || lock.l_len <= 0) return {};
    return {lock.l_start, lock.l_start + lock.l_len};
}

// Looks in the run for a lock that `probe`, another open file of the same file, sees and `fd` does
// not: `fd`'s own lock.
Run find_own(int fd, int probe, const Run& run) {
    if (run.start >= run.end) return {};
    const Run seen = find_others(probe, run);
    if (seen.end == 0) return {};
    if (find_others(fd, seen).end == 0) return seen;
    const Run before = find_own(fd, probe, {run.start, seen.start});
    return before.end != 0 ? before : find_own(fd, probe, {seen.end, run.end});
}

}  // namespace

bool set_new_name(int fd, const DescriptorName& name) {
    return set_lock(fd, name.key, 0, name.units);
}

bool set_name(int fd, const DescriptorName& name) {
    for (int copy = 0; copy < 1 << kCopyBits; copy++)
        if (set_lock(fd, name.key, copy, name.units)) return true;
    return false;
}

DescriptorName name_of(int fd) {
    char path[32];
    std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const Opened probe(path, O_RDWR | O_NONBLOCK);
    if (probe.fd() < 0) return {};
    const Run own = find_own(fd, probe.fd(), {kFirst, kEnd});
    if (own.end == 0) return {};
    return {static_cast<std::uint64_t>(own.start) >> (kLengthBits + kCopyBits),
            static_cast<AllocationUnits>(own.end - own.start)};
}

bool is_anyones_name(int fd, std::uint64_t key) {
    return find_others(fd, {start_of(key), start_of(key) + kFirst}).end != 0;
}

}  // namespace tessera::guard
