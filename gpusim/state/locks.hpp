// Byte-range locks on `gpusim/locks`: who is alive, and whose turn it is to decide.
//
// They are POSIX record locks: the kernel drops them when the holder dies, however it dies, and
// they do not pass to a fork child. It also drops them all when the holder closes *any* descriptor
// of the file. Hence the rule for every library here: a descriptor of `locks` is never closed once
// opened.
#pragma once

#include <sys/types.h>

namespace gpusim {

inline constexpr off_t kDecisionLock = 1 << 20;  // bytes below kMaxSlots are the slots' own
inline constexpr off_t kEngineLocks = 2 << 20;   // one byte for each engine of each card

// Waits until this process holds the lock. False when the kernel has no lock to give or the
// descriptor may not be written. Threads of one process do not exclude each other: callers hold a
// mutex.
bool lock_byte(int fd, off_t byte);

bool try_lock_byte(int fd, off_t byte);

void unlock_byte(int fd, off_t byte);

inline constexpr pid_t kNobody = -1;
inline constexpr pid_t kInvisible = 0;

// The process that holds `byte`, this one included: its pid in the caller's pid namespace,
// kInvisible where it has none there, kNobody when the byte is free. Works on a read-only
// descriptor.
pid_t lock_holder(int fd, off_t byte);

}  // namespace gpusim
