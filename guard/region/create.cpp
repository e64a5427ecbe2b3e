#include "guard/region/create.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>

#include "guard/region/accounts_reader.hpp"
#include "guard/region/clock.hpp"
#include "guard/region/grant.hpp"
#include "guard/region/uuid.hpp"

namespace tessera::guard {
namespace {

struct Path {
    char text[PATH_MAX];
};

bool join(Path& path, const char* directory, const char* name, const char* suffix) {
    const int length = std::snprintf(path.text, PATH_MAX, "%s/%s%s", directory, name, suffix);
    return length > 0 && length < PATH_MAX;
}

bool write_all(int fd, const void* bytes, std::size_t size) {
    const auto* at = static_cast<const char*>(bytes);
    while (size > 0) {
        const ssize_t written = write(fd, at, size);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        at += written;
        size -= static_cast<std::size_t>(written);
    }
    return true;
}

// Reserves disk space for the whole file. Without it, a process that later touches a page without
// disk space is killed.
int fill(int fd, const void* head, std::size_t head_size, std::size_t size, mode_t mode) {
    if (!write_all(fd, head, head_size)) return errno;
    if (const int error = posix_fallocate(fd, 0, static_cast<off_t>(size)); error != 0)
        return error;
    if (fchmod(fd, mode) != 0) return errno;  // independent of the umask
    return fsync(fd) == 0 ? 0 : errno;
}

struct Wanted {
    const char* name;
    const void* head;  // the rest of the file, up to `size`, is zero
    std::size_t head_size;
    std::size_t size;
    mode_t mode;
};

// Writes the file under another name and renames it, so that readers never see a part of it.
int make(const char* directory, const Wanted& wanted) {
    Path path;
    Path made;
    if (!join(path, directory, wanted.name, "") || !join(made, directory, wanted.name, ".new"))
        return ENAMETOOLONG;
    unlink(made.text);
    const int fd = open(made.text, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return errno;
    int error = fill(fd, wanted.head, wanted.head_size, wanted.size, wanted.mode);
    if (close(fd) != 0 && error == 0) error = errno;
    if (error == 0 && rename(made.text, path.text) != 0) error = errno;
    if (error != 0) unlink(made.text);
    return error;
}

// Whether the directory has a complete accounts file of this layout.
bool is_sound(const char* directory) {
    Path path;
    if (!join(path, directory, kAccountsName, "")) return false;
    const int fd = open(path.text, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return false;
    const bool is_whole =
        begins_as_accounts(fd) && lseek(fd, 0, SEEK_END) == off_t{sizeof(Accounts)};
    close(fd);
    return is_whole;
}

// Until the arbiter writes its first grant, the container has its guarantee.
void begin_timing(GpuLimit& limit) {
    const Millionths cores = limit.cores.load();
    const Millionths cores_limit = limit.cores_limit.load();
    if (cores == 0 && cores_limit >= kWhole) return;
    limit.is_timed.store(1);
    const Millionths rate = cores > 0 ? cores : cores_limit;
    write_grant(limit.grant,
                {.as_of_ns = monotonic_ns(), .rate = rate, .of = {{0, kWhole}, {0, kWhole}}});
}

}  // namespace

int create_region(const char* directory, const RegionGpu* gpus, int gpu_count) {
    if (gpu_count < 0 || gpu_count > kMaxGpus) return EINVAL;
    Limits limits = {};
    limits.magic = kLimitsMagic;
    limits.size = sizeof(Limits);
    limits.gpu_count = static_cast<std::uint32_t>(gpu_count);
    for (int i = 0; i < gpu_count; i++) {
        if (!read_uuid(gpus[i].uuid, limits.gpus[i].uuid)) return EINVAL;
        // Limits are rounded down and costs are rounded up to whole allocation units.
        limits.gpus[i].memory =
            static_cast<AllocationUnits>(gpus[i].memory_bytes / kAllocationUnitBytes);
        limits.gpus[i].most_memory = limits.gpus[i].memory.load();
        limits.gpus[i].context_cost = units_of(gpus[i].context_bytes);
        limits.gpus[i].cores = gpus[i].cores;
        limits.gpus[i].cores_limit = gpus[i].cores_limit;
        limits.gpus[i].most_multiprocessors = gpus[i].most_multiprocessors;
        begin_timing(limits.gpus[i]);
    }
    if (!is_sound(directory)) {
        const AccountsHead head;
        const int error =
            make(directory, {kAccountsName, &head, sizeof head, sizeof(Accounts), 0666});
        if (error != 0) return error;
    }
    return make(directory, {kLimitsName, &limits, sizeof limits, sizeof(Limits), 0644});
}

}  // namespace tessera::guard
