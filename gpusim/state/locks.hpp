// Byte-range locks on `gpusim/locks`. They show which processes are alive, and serialize decisions.
//
// They are POSIX record locks: the kernel drops them when the holder dies, however it dies, and a
// fork child does not inherit them. The kernel also drops them all when the holder closes *any*
// descriptor of the file. So every library here follows one rule: never close a descriptor of
// `locks` once it is open.
#pragma once

#include <sys/types.h>

namespace gpusim {

inline constexpr off_t kDecisionLock = 1 << 20;  // bytes below kMaxSlots belong to the slots
inline constexpr off_t kEngineLocks = 2 << 20;   // one byte for each engine of each GPU

// Waits until this process holds the lock. False if the kernel has no lock left or the descriptor
// is not writable. Threads of one process do not exclude each other: callers must hold a mutex.
bool lock_byte(int fd, off_t byte);

bool try_lock_byte(int fd, off_t byte);

void unlock_byte(int fd, off_t byte);

// The same by a lock of the descriptor, not of the process. It also excludes those of this process
// that use the functions above. It needs no mutex if each thread has a descriptor of its own.
bool lock_byte_by_descriptor(int fd, off_t byte);
void unlock_byte_by_descriptor(int fd, off_t byte);

inline constexpr pid_t kNobody = -1;
inline constexpr pid_t kInvisible = 0;

// The process that holds `byte`, this one included: its pid in the caller's pid namespace,
// kInvisible if it has none there, kNobody if the byte is free. Works on a read-only descriptor.
pid_t lock_holder(int fd, off_t byte);

}  // namespace gpusim
