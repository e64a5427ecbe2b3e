#include "gpusim/state/cgroups.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "gpusim/state/shared.hpp"

namespace gpusim {
namespace {

constexpr char kRoot[] = "/sys/fs/cgroup";
constexpr char kMemoryRoot[] = "/sys/fs/cgroup/memory";  // of cgroup v1
constexpr std::size_t kMaxText = 8192;

bool is_cgroup_directory(const char* path) {
    struct statfs system = {};
    if (statfs(path, &system) != 0) return false;
    return system.f_type == CGROUP2_SUPER_MAGIC || system.f_type == CGROUP_SUPER_MAGIC;
}

// False if there is no such directory here.
bool identify(CgroupName& name) {
    struct statx found = {};
    if (!is_cgroup_directory(name.path)) return false;
    if (statx(AT_FDCWD, name.path, 0, STATX_INO | STATX_TYPE, &found) != 0) return false;
    if (!S_ISDIR(found.stx_mode)) return false;
    name.device = (std::uint64_t{found.stx_dev_major} << 32) | found.stx_dev_minor;
    name.inode = found.stx_ino;
    return true;
}

// Cuts the path to that of the parent. False if the parent is the root of the hierarchy or above.
bool to_parent(char (&path)[kMaxCgroupPath]) {
    char* slash = std::strrchr(path, '/');
    if (slash == nullptr) return false;
    *slash = '\0';
    char above[kMaxCgroupPath];
    std::memcpy(above, path, sizeof above);
    slash = std::strrchr(above, '/');
    if (slash == nullptr) return false;
    *slash = '\0';
    return is_cgroup_directory(path) && is_cgroup_directory(above);
}

bool contains(const char* outer, const char* inner) {
    const std::size_t length = std::strlen(outer);
    return std::strncmp(outer, inner, length) == 0 &&
           (inner[length] == '\0' || inner[length] == '/');
}

bool is_in(const GpusFile& file, std::uint32_t inner, std::uint32_t outer) {
    return inner == outer || contains(file.cgroups[outer].path, file.cgroups[inner].path);
}

bool is_limited(const GpusFile& file, std::uint32_t cgroup, int gpu) {
    return file.cgroups[cgroup].hard_bytes[gpu].load() != kNoMemoryLimit;
}

// The cgroup itself, or the nearest one above it, that has a hard limit.
std::uint32_t nearest_limited(const GpusFile& file, std::uint32_t cgroup, int gpu) {
    std::uint32_t nearest = kNoCgroup;
    std::size_t longest = 0;
    for (std::uint32_t i = 0; i < kMaxCgroups; i++) {
        if (file.cgroups[i].in_use.load() == 0 || !is_limited(file, i, gpu)) continue;
        if (!is_in(file, cgroup, i)) continue;
        const std::size_t length = std::strlen(file.cgroups[i].path);
        if (nearest != kNoCgroup && length <= longest) continue;
        nearest = i;
        longest = length;
    }
    return nearest;
}

// Whether memory of a process in `from` counts for `cgroup`.
bool counts(const GpusFile& file, std::uint32_t from, std::uint32_t cgroup, int gpu) {
    if (from == kNoCgroup) return false;
    if (file.memory_limits.load() == MemoryLimits::dmem) return is_in(file, from, cgroup);
    const std::uint32_t nearest = nearest_limited(file, from, gpu);
    return nearest == cgroup || (from == cgroup && nearest == kNoCgroup);
}

bool has_limits(const Cgroup& cgroup) {
    for (int gpu = 0; gpu < kMaxGpus; gpu++) {
        if (cgroup.soft_bytes[gpu].load() != 0) return true;
        if (cgroup.hard_bytes[gpu].load() != kNoMemoryLimit) return true;
    }
    return false;
}

bool has_memory(const State& state, std::uint32_t cgroup) {
    const GpusFile& file = *state.file;
    for (int i = 0; i < file.slots_end.load(); i++) {
        if (file.slots[i].cgroup.load() == cgroup && slot_owner(state, i) != kNobody) return true;
    }
    for (int i = 0; i < file.shared_end.load(); i++) {
        const SharedMemory& shared = file.shared[i];
        if (shared.bytes.load() != 0 && shared.cgroup.load() == cgroup && is_held(state, i))
            return true;
    }
    return false;
}

bool is_gone(const Cgroup& cgroup) {
    CgroupName now;
    std::memcpy(now.path, cgroup.path, sizeof now.path);
    return !identify(now) || now.device != cgroup.device || now.inode != cgroup.inode;
}

// Whether a process sees the directories of all cgroups, or perhaps only that of its own.
enum class View { whole, own };

std::uint32_t free_entry(const State& state, View view) {
    for (std::uint32_t i = 0; i < kMaxCgroups; i++) {
        const Cgroup& cgroup = state.file->cgroups[i];
        if (cgroup.in_use.load() == 0) return i;
        // The limits of a cgroup that still exists must be kept.
        const bool is_needed = has_limits(cgroup) && (view == View::own || !is_gone(cgroup));
        if (!is_needed && !has_memory(state, i)) return i;
    }
    return kNoCgroup;
}

std::uint32_t find_or_add(const State& state, const CgroupName& name, View view) {
    GpusFile& file = *state.file;
    std::uint32_t found = find_cgroup(file, name);
    if (found != kNoCgroup) {
        // A process in a cgroup namespace sees a shorter path.
        Cgroup& cgroup = file.cgroups[found];
        if (std::strlen(name.path) > std::strlen(cgroup.path))
            std::memcpy(cgroup.path, name.path, sizeof cgroup.path);
        return found;
    }
    found = free_entry(state, view);
    if (found == kNoCgroup) return kNoCgroup;
    Cgroup& cgroup = file.cgroups[found];
    cgroup.in_use.store(0);
    std::memcpy(cgroup.path, name.path, sizeof cgroup.path);
    cgroup.device = name.device;
    cgroup.inode = name.inode;
    for (int gpu = 0; gpu < kMaxGpus; gpu++) {
        cgroup.soft_bytes[gpu].store(0);
        cgroup.hard_bytes[gpu].store(kNoMemoryLimit);
    }
    cgroup.in_use.store(1);
    return found;
}

// Adds the difference to the soft limits of all cgroups above `name`.
bool add_to_parents(const State& state, const CgroupName& name, int gpu, std::uint64_t added) {
    CgroupName parent = name;
    while (to_parent(parent.path)) {
        if (!identify(parent)) return true;
        const std::uint32_t entry = find_or_add(state, parent, View::whole);
        if (entry == kNoCgroup) return false;
        state.file->cgroups[entry].soft_bytes[gpu].fetch_add(added);
    }
    return true;
}

// The part of a line of /proc/PID/cgroup after the controllers, if the line is of the hierarchy
// that counts; null if not.
const char* path_of_line(const char* line, const char* end, bool& is_v1) {
    const auto* first =
        static_cast<const char*>(std::memchr(line, ':', static_cast<std::size_t>(end - line)));
    if (first == nullptr) return nullptr;
    const char* controllers = first + 1;
    const auto* second = static_cast<const char*>(
        std::memchr(controllers, ':', static_cast<std::size_t>(end - controllers)));
    if (second == nullptr) return nullptr;
    const auto length = static_cast<std::size_t>(second - controllers);
    constexpr char kController[] = "memory";
    is_v1 = length == sizeof kController - 1 && std::memcmp(controllers, kController, length) == 0;
    return is_v1 || length == 0 ? second + 1 : nullptr;
}

}  // namespace

bool directory_of_cgroup(const char* text, char (&path)[kMaxCgroupPath]) {
    bool is_found = false;
    for (const char* line = text; *line != '\0';) {
        const char* end = strchrnul(line, '\n');
        bool is_v1 = false;
        const char* below = path_of_line(line, end, is_v1);
        // cgroup v1 with an empty v2 hierarchy beside it: v1 counts.
        if (below != nullptr && (is_v1 || !is_found)) {
            const bool is_root = end - below == 1 && *below == '/';
            const int length =
                std::snprintf(path, sizeof path, "%s%.*s", is_v1 ? kMemoryRoot : kRoot,
                              is_root ? 0 : static_cast<int>(end - below), below);
            if (length < 0 || length >= kMaxCgroupPath) return false;
            is_found = true;
            if (is_v1) return true;
        }
        line = *end == '\0' ? end : end + 1;
    }
    return is_found;
}

bool own_cgroup_name(CgroupName& name) {
    char text[kMaxText];
    const int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    std::size_t length = 0;
    ssize_t got = 0;
    while (length < sizeof text - 1 &&
           (got = read(fd, text + length, sizeof text - 1 - length)) > 0) {
        length += static_cast<std::size_t>(got);
    }
    close(fd);
    text[length] = '\0';
    if (!directory_of_cgroup(text, name.path)) return false;
    identify(name);
    return true;
}

bool name_of_cgroup(const char* directory, CgroupName& name) {
    char path[PATH_MAX];
    if (realpath(directory, path) == nullptr || std::strlen(path) >= kMaxCgroupPath) return false;
    std::snprintf(name.path, sizeof name.path, "%s", path);
    return identify(name);
}

std::uint32_t find_cgroup(const GpusFile& file, const CgroupName& name) {
    for (std::uint32_t i = 0; i < kMaxCgroups; i++) {
        const Cgroup& cgroup = file.cgroups[i];
        if (cgroup.in_use.load() == 0) continue;
        const bool has_identity = cgroup.inode != 0 && name.inode != 0;
        if (has_identity ? cgroup.inode == name.inode && cgroup.device == name.device
                         : std::strcmp(cgroup.path, name.path) == 0)
            return i;
    }
    return kNoCgroup;
}

bool enter_own_cgroup(const State& state, std::uint32_t& cgroup) {
    cgroup = kNoCgroup;
    CgroupName name;
    if (state.file->memory_limits.load() == MemoryLimits::off || !own_cgroup_name(name))
        return true;
    cgroup = find_or_add(state, name, View::own);
    return cgroup != kNoCgroup;
}

bool set_limits(const State& state, const CgroupName& name, int gpu, Limits limits) {
    const std::uint32_t entry = find_or_add(state, name, View::whole);
    if (entry == kNoCgroup) return false;
    Cgroup& cgroup = state.file->cgroups[entry];
    const std::uint64_t added = limits.soft_bytes - cgroup.soft_bytes[gpu].load();  // may wrap
    // Before the parents' entries, which must not take this one for unused.
    cgroup.soft_bytes[gpu].store(limits.soft_bytes);
    cgroup.hard_bytes[gpu].store(limits.hard_bytes);
    const bool is_nested = state.file->memory_limits.load() == MemoryLimits::dmem;
    return !is_nested || added == 0 || add_to_parents(state, name, gpu, added);
}

std::uint64_t cgroup_bytes(const State& state, std::uint32_t cgroup, int gpu) {
    const GpusFile& file = *state.file;
    std::uint64_t sum = 0;
    for (int i = 0; i < file.slots_end.load(); i++) {
        const std::uint64_t bytes = file.slots[i].bytes[gpu].load();
        if (bytes != 0 && counts(file, file.slots[i].cgroup.load(), cgroup, gpu) &&
            slot_owner(state, i) != kNobody)
            sum += bytes;
    }
    for (int i = 0; i < file.shared_end.load(); i++) {
        const SharedMemory& shared = file.shared[i];
        const std::uint64_t bytes = shared.bytes.load();
        if (bytes != 0 && shared.gpu.load() == static_cast<std::uint32_t>(gpu) &&
            counts(file, shared.cgroup.load(), cgroup, gpu) && is_held(state, i))
            sum += bytes;
    }
    return sum;
}

std::uint64_t bytes_left_by_limits(const State& state, std::uint32_t cgroup, int gpu) {
    const GpusFile& file = *state.file;
    std::uint64_t left = kNoMemoryLimit;
    if (cgroup == kNoCgroup) return left;
    const bool is_nested = file.memory_limits.load() == MemoryLimits::dmem;
    const std::uint32_t nearest = nearest_limited(file, cgroup, gpu);
    for (std::uint32_t i = 0; i < kMaxCgroups; i++) {
        if (file.cgroups[i].in_use.load() == 0 || !is_limited(file, i, gpu)) continue;
        if (is_nested ? !is_in(file, cgroup, i) : i != nearest) continue;
        const std::uint64_t limit = file.cgroups[i].hard_bytes[gpu].load();
        const std::uint64_t used = cgroup_bytes(state, i, gpu);
        const std::uint64_t rest = used < limit ? limit - used : 0;
        if (rest < left) left = rest;
    }
    return left;
}

std::uint32_t cgroup_seen_by(const GpusFile& file, std::uint32_t cgroup, int gpu) {
    if (cgroup == kNoCgroup) return kNoCgroup;
    if (file.memory_limits.load() == MemoryLimits::dmem)
        return is_limited(file, cgroup, gpu) ? cgroup : kNoCgroup;
    return nearest_limited(file, cgroup, gpu);
}

}  // namespace gpusim
