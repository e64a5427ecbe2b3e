#include "gpusim/mps/pipe_directory.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <initializer_list>

#include "gpusim/mps/wire.hpp"

namespace gpusim::mps {
namespace {

constexpr char kLock[] = "control_lock";
constexpr char kLog[] = "log";
constexpr int kBacklog = 128;
constexpr char kPid[] = "nvidia-cuda-mps-control.pid";

int open_for_all(const char* path, int flags) {
    const int fd = open(path, flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    // The umask must not matter. A file of another user keeps its mode.
    if (fd >= 0 && fchmod(fd, 0666) != 0) return fd;
    return fd;
}

bool write_pid(const char* directory) {
    const int fd = open_for_all(path_in(directory, kPid).text, O_WRONLY | O_TRUNC);
    if (fd < 0) return false;
    const bool written = dprintf(fd, "%d", getpid()) > 0;
    close(fd);
    return written;
}

bool make_fifo(const char* path) {
    return mkfifo(path, 0777) == 0 && chmod(path, 0777) == 0;
}

}  // namespace

Claim claim(PipeDirectory& directory, const char* path, Version version) {
    directory.path = path;
    if (mkdir(path, 0777) == 0 && chmod(path, 0777) != 0) return Claim::not_accessible;
    directory.lock_fd = open_for_all(path_in(path, kLock).text, O_RDWR);
    if (directory.lock_fd < 0) return Claim::not_accessible;
    struct flock whole_file = {};
    whole_file.l_type = F_WRLCK;
    whole_file.l_whence = SEEK_SET;
    if (fcntl(directory.lock_fd, F_SETLK, &whole_file) != 0) return Claim::already_running;
    for (const char* stale : {kControl, kControlPrivileged, kLog, kPid})
        unlink(path_in(path, stale).text);
    if (!make_fifo(path_in(path, kLog).text)) return Claim::not_accessible;
    if (version >= Version::v550 && !write_pid(path)) return Claim::not_accessible;
    directory.control_fd = bind_to(path_in(path, kControl).text, 0666);
    directory.privileged_fd = bind_to(path_in(path, kControlPrivileged).text, 0755);
    // A front end finds all files once one socket accepts it. The privileged socket is first, so
    // that no front end falls back to the other one.
    for (const int fd : {directory.privileged_fd, directory.control_fd})
        if (fd < 0 || listen(fd, kBacklog) != 0) return Claim::not_accessible;
    return Claim::made;
}

void release(PipeDirectory& directory) {
    unlink(path_in(directory.path, kLog).text);
    unlink(path_in(directory.path, kPid).text);
    for (int* fd : {&directory.control_fd, &directory.privileged_fd, &directory.lock_fd}) {
        close(*fd);
        *fd = -1;
    }
}

}  // namespace gpusim::mps
