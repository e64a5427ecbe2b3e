#include "gpusim/test_support/stopped_process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "gpusim/state/layout.hpp"
#include "gpusim/state/locks.hpp"

namespace gpusim {
namespace {

constexpr useconds_t kPauseUs = 1000;

// This process's descriptor of `gpusim/locks`, or -1.
int find_locks() {
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code error;
        const auto target = std::filesystem::read_symlink(entry.path(), error);
        if (!error && target.filename() == "locks" && target.parent_path().filename() == "gpusim")
            return std::atoi(entry.path().filename().c_str());
    }
    return -1;
}

// The functions below run in a process that was forked from one with threads, so they take no
// memory: another thread may have held the allocator's lock.

bool is_thread_stopped(pid_t process, const char* thread) {
    char path[64];
    char text[512] = {};
    std::snprintf(path, sizeof path, "/proc/%d/task/%s/stat", process, thread);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return true;  // it has ended
    const ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    const char* name_end = length > 0 ? std::strrchr(text, ')') : nullptr;
    return name_end != nullptr && name_end[1] == ' ' && name_end[2] == 'T';
}

bool is_stopped(pid_t process) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/task", process);
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return false;
    bool all = true;
    alignas(dirent64) char entries[4096];
    long length = 0;
    while (all && (length = syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0) {
        for (long at = 0; at < length && all;) {
            dirent64 entry = {};
            std::memcpy(&entry, entries + at, offsetof(dirent64, d_name));
            const char* name = entries + at + offsetof(dirent64, d_name);
            if (name[0] != '.') all = is_thread_stopped(process, name);
            at += entry.d_reclen;
        }
    }
    close(fd);
    return all;
}

bool holds_locks(int locks, pid_t process) {
    if (lock_holder(locks, kDecisionLock) == process) return true;
    for (int engine = 0; engine < kMaxGpus * kEngines; engine++) {
        if (lock_holder(locks, kEngineLocks + engine) == process) return true;
    }
    return false;
}

// Ends when the process is stopped without locks, or is gone.
[[noreturn]] void stop(pid_t process, int locks) {
    while (getppid() == process) {
        // Again and again, for another process may send SIGCONT meanwhile.
        while (getppid() == process && !is_stopped(process)) {
            kill(process, SIGSTOP);
            usleep(kPauseUs);
        }
        if (!holds_locks(locks, process)) break;
        kill(process, SIGCONT);
        usleep(kPauseUs);
    }
    _exit(0);
}

}  // namespace

void stop_without_locks() {
    const int locks = find_locks();
    if (locks < 0) {
        std::fprintf(stderr, "stop_without_locks: this process has no simulated driver\n");
        std::_Exit(1);
    }
    const pid_t process = getpid();
    // Not fork(), which would run what the guard and the driver do at a fork.
    const long helper = syscall(SYS_fork);
    if (helper == 0) stop(process, locks);
    int status = 0;
    while (waitpid(static_cast<pid_t>(helper), &status, 0) < 0 && errno == EINTR) {
    }
}

}  // namespace gpusim
