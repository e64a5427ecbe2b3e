#include "gpusim/state/locks.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace gpusim {
namespace {

bool set_lock(int fd, int command, short type, off_t byte) {
    struct flock lock = {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = byte;
    lock.l_len = 1;
    while (fcntl(fd, command, &lock) != 0) {
        if (errno != EINTR) return false;
    }
    return true;
}

}  // namespace

bool lock_byte(int fd, off_t byte) {
    return set_lock(fd, F_SETLKW, F_WRLCK, byte);
}

bool try_lock_byte(int fd, off_t byte) {
    return set_lock(fd, F_SETLK, F_WRLCK, byte);
}

void unlock_byte(int fd, off_t byte) {
    set_lock(fd, F_SETLK, F_UNLCK, byte);
}

bool lock_byte_by_descriptor(int fd, off_t byte) {
    return set_lock(fd, F_OFD_SETLKW, F_WRLCK, byte);
}

void unlock_byte_by_descriptor(int fd, off_t byte) {
    set_lock(fd, F_OFD_SETLK, F_UNLCK, byte);
}

// F_GETLK would not see the locks of the caller's own process, but NVML must list the process that
// it is in. The open-file-description variant has another owner, so it sees the POSIX locks of all
// processes.
pid_t lock_holder(int fd, off_t byte) {
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = byte;
    lock.l_len = 1;
    if (fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return kNobody;
    return lock.l_pid > 0 ? lock.l_pid : kInvisible;
}

}  // namespace gpusim
