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
    name.device = name.inode = 0;
    if (!is_cgroup_directory(name.path)) return false;
    if (statx(AT_FDCWD, name.path, 0, STATX_INO | STATX_TYPE, &found) != 0) return false;
    if (!S_ISDIR(found.stx_mode)) return false;
    name.device = (std::uint64_t{found.stx_dev_major} << 32) | found.stx_dev_minor;
    name.inode = found.stx_ino;
    return true;
}

// Cuts the path at its last slash. False at the root of the hierarchy.
bool to_parent(CgroupName& name) {
    if (std::strcmp(name.path, kRoot) == 0 || std::strcmp(name.path, kMemoryRoot) == 0)
        return false;
    char* slash = std::strrchr(name.path, '/');
    if (slash == nullptr || slash == name.path) return false;
    *slash = '\0';
    const bool was_seen = name.inode != 0;
    return identify(name) || !was_seen;
}

bool is_in(const GpusFile& file, std::uint32_t inner, std::uint32_t outer) {
    for (int depth = 0; inner != kNoCgroup && depth < kMaxCgroups; depth++) {
        if (inner == outer) return true;
        inner = file.cgroups[inner].parent.load();
    }
    return false;
}

bool is_limited(const GpusFile& file, std::uint32_t cgroup, int gpu) {
    return file.cgroups[cgroup].hard_bytes[gpu].load() != kNoMemoryLimit;
}

// The cgroup itself, or the nearest one above it, that has a hard limit.
std::uint32_t nearest_limited(const GpusFile& file, std::uint32_t cgroup, int gpu) {
    for (int depth = 0; cgroup != kNoCgroup && depth < kMaxCgroups; depth++) {
        if (is_limited(file, cgroup, gpu)) return cgroup;
        cgroup = file.cgroups[cgroup].parent.load();
    }
    return kNoCgroup;
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
        if (cgroup.soft_bytes[gpu].load() != 0 || cgroup.left_bytes[gpu].load() != 0) return true;
        if (cgroup.hard_bytes[gpu].load() != kNoMemoryLimit) return true;
    }
    return false;
}

// Whether processes, memory or cgroups below it need the entry.
bool is_needed(const State& state, std::uint32_t cgroup) {
    const GpusFile& file = *state.file;
    for (int i = 0; i < file.slots_end.load(); i++) {
        if (file.slots[i].cgroup.load() == cgroup && slot_owner(state, i) != kNobody) return true;
    }
    for (int i = 0; i < file.shared_end.load(); i++) {
        const SharedMemory& shared = file.shared[i];
        if (shared.bytes.load() != 0 && shared.cgroup.load() == cgroup && is_held(state, i))
            return true;
    }
    for (const Cgroup& other : file.cgroups) {
        if (other.in_use.load() != 0 && other.parent.load() == cgroup) return true;
    }
    return false;
}

bool is_gone(const Cgroup& cgroup) {
    CgroupName now;
    std::memcpy(now.path, cgroup.path, sizeof now.path);
    return !identify(now) || now.device != cgroup.device.load() || now.inode != cgroup.inode.load();
}

// Whether a process sees the directories of all cgroups, or perhaps only that of its own.
enum class View { whole, own };

// Its limits end with a removed cgroup, and its soft ones stay with the parent.
void forget_limits(GpusFile& file, Cgroup& cgroup) {
    const std::uint32_t parent = cgroup.parent.load();
    for (int gpu = 0; gpu < kMaxGpus; gpu++) {
        const std::uint64_t left = cgroup.soft_bytes[gpu].load() + cgroup.left_bytes[gpu].load();
        if (parent != kNoCgroup) file.cgroups[parent].left_bytes[gpu].fetch_add(left);
        cgroup.soft_bytes[gpu].store(0);
        cgroup.left_bytes[gpu].store(0);
        cgroup.hard_bytes[gpu].store(kNoMemoryLimit);
    }
}

// Not `kept`.
std::uint32_t free_entry(const State& state, std::uint32_t kept, View view) {
    GpusFile& file = *state.file;
    for (std::uint32_t i = 0; i < kMaxCgroups; i++) {
        Cgroup& cgroup = file.cgroups[i];
        if (cgroup.in_use.load() == 0) return i;
        if (i == kept || is_needed(state, i)) continue;
        if (!has_limits(cgroup)) return i;
        // The limits of a cgroup that still exists must be kept.
        if (view == View::own || cgroup.has_path.load() == 0 || !is_gone(cgroup)) continue;
        forget_limits(file, cgroup);
        return i;
    }
    return kNoCgroup;
}

std::uint32_t add_entry(const State& state, const CgroupName& name, std::uint32_t parent,
                        View view) {
    const std::uint32_t found = free_entry(state, parent, view);
    if (found == kNoCgroup) return kNoCgroup;
    Cgroup& cgroup = state.file->cgroups[found];
    cgroup.in_use.store(0);
    cgroup.has_path.store(0);
    cgroup.parent.store(parent);
    cgroup.device.store(name.device);
    cgroup.inode.store(name.inode);
    for (int gpu = 0; gpu < kMaxGpus; gpu++) {
        cgroup.soft_bytes[gpu].store(0);
        cgroup.left_bytes[gpu].store(0);
        cgroup.hard_bytes[gpu].store(kNoMemoryLimit);
    }
    cgroup.in_use.store(1);
    return found;
}

// The entry of the cgroup, whose parents have entries too. False if no entry is left.
bool find_or_add(const State& state, const CgroupName& name, View view, std::uint32_t& entry) {
    GpusFile& file = *state.file;
    std::uint32_t parent = kNoCgroup;
    if (CgroupName above = name; to_parent(above) && !find_or_add(state, above, view, parent))
        return false;
    entry = find_cgroup(file, name);
    if (entry == kNoCgroup) entry = add_entry(state, name, parent, view);
    if (entry == kNoCgroup) return false;
    Cgroup& cgroup = file.cgroups[entry];
    if (parent != kNoCgroup) cgroup.parent.store(parent);
    if (cgroup.inode.load() == 0) {
        cgroup.device.store(name.device);
        cgroup.inode.store(name.inode);
    }
    // A path in a namespace would be another one outside.
    if (cgroup.has_path.load() == 0 && (view == View::whole || name.inode == 0)) {
        std::memcpy(cgroup.path, name.path, sizeof cgroup.path);
        cgroup.has_path.store(1);
    }
    return true;
}

bool has_controller(const char* list, const char* end, const char* wanted) {
    const std::size_t length = std::strlen(wanted);
    while (list <= end) {
        const auto* comma =
            static_cast<const char*>(std::memchr(list, ',', static_cast<std::size_t>(end - list)));
        const char* stop = comma == nullptr ? end : comma;
        if (static_cast<std::size_t>(stop - list) == length &&
            std::memcmp(list, wanted, length) == 0)
            return true;
        list = stop + 1;
    }
    return false;
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
    is_v1 = has_controller(controllers, second, "memory");
    return is_v1 || second == controllers ? second + 1 : nullptr;
}

}  // namespace

CgroupText directory_of_cgroup(const char* text, char (&path)[kMaxCgroupPath]) {
    CgroupText result = CgroupText::none;
    for (const char* line = text; *line != '\0';) {
        const char* end = line;
        while (*end != '\0' && *end != '\n')
            end++;
        bool is_v1 = false;
        const char* below = path_of_line(line, end, is_v1);
        // cgroup v1 with an empty v2 hierarchy beside it: v1 counts.
        if (below != nullptr && (is_v1 || result == CgroupText::none)) {
            const bool is_root = end - below == 1 && *below == '/';
            const int length =
                std::snprintf(path, sizeof path, "%s%.*s", is_v1 ? kMemoryRoot : kRoot,
                              is_root ? 0 : static_cast<int>(end - below), below);
            const bool fits = length >= 0 && length < kMaxCgroupPath;
            result = fits ? CgroupText::found : CgroupText::too_long;
            if (is_v1) return result;
        }
        line = *end == '\0' ? end : end + 1;
    }
    return result;
}

CgroupText own_cgroup_name(CgroupName& name) {
    char text[kMaxText];
    const int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return CgroupText::none;
    std::size_t length = 0;
    ssize_t got = 0;
    while (length < sizeof text - 1 &&
           (got = read(fd, text + length, sizeof text - 1 - length)) > 0) {
        length += static_cast<std::size_t>(got);
    }
    close(fd);
    text[length] = '\0';
    const CgroupText result = directory_of_cgroup(text, name.path);
    if (result != CgroupText::found || identify(name)) return result;
    // In a container whose own cgroup is mounted as if it were the root. Where nothing is mounted,
    // the path must do, unless it is that of every container.
    CgroupName root;
    const bool is_v1 = std::strncmp(name.path, kMemoryRoot, sizeof kMemoryRoot - 1) == 0;
    std::snprintf(root.path, sizeof root.path, "%s", is_v1 ? kMemoryRoot : kRoot);
    if (identify(root)) {
        name = root;
    } else if (std::strcmp(name.path, root.path) == 0) {
        return CgroupText::none;
    }
    return CgroupText::found;
}

bool name_of_cgroup(const char* directory, CgroupName& name) {
    char path[PATH_MAX];
    if (realpath(directory, path) == nullptr || std::strlen(path) >= kMaxCgroupPath) return false;
    std::snprintf(name.path, sizeof name.path, "%s", path);
    if (!identify(name)) return false;
    CgroupName memory;
    std::snprintf(memory.path, sizeof memory.path, "%s", kMemoryRoot);
    if (identify(memory)) return name.device == memory.device;
    struct statfs system = {};
    return statfs(name.path, &system) == 0 && system.f_type == CGROUP2_SUPER_MAGIC;
}

std::uint32_t find_cgroup(const GpusFile& file, const CgroupName& name) {
    for (std::uint32_t i = 0; i < kMaxCgroups && name.inode != 0; i++) {
        const Cgroup& cgroup = file.cgroups[i];
        if (cgroup.in_use.load() != 0 && cgroup.inode.load() == name.inode &&
            cgroup.device.load() == name.device)
            return i;
    }
    for (std::uint32_t i = 0; i < kMaxCgroups; i++) {
        const Cgroup& cgroup = file.cgroups[i];
        if (cgroup.in_use.load() == 0 || cgroup.has_path.load() == 0) continue;
        const bool has_identity = cgroup.inode.load() != 0 && name.inode != 0;
        if (!has_identity && std::strcmp(cgroup.path, name.path) == 0) return i;
    }
    return kNoCgroup;
}

bool enter_own_cgroup(const State& state, std::uint32_t& cgroup) {
    cgroup = kNoCgroup;
    if (state.file->memory_limits.load() == MemoryLimits::off) return true;
    CgroupName name;
    const CgroupText own = own_cgroup_name(name);
    if (own != CgroupText::found) return own == CgroupText::none;
    return find_or_add(state, name, View::own, cgroup);
}

bool set_limits(const State& state, const CgroupName& name, int gpu, Limits limits) {
    std::uint32_t entry = kNoCgroup;
    if (!find_or_add(state, name, View::whole, entry)) return false;
    Cgroup& cgroup = state.file->cgroups[entry];
    cgroup.soft_bytes[gpu].store(limits.soft_bytes);
    cgroup.hard_bytes[gpu].store(limits.hard_bytes);
    return true;
}

Limits limits_of(const GpusFile& file, std::uint32_t cgroup, int gpu) {
    Limits limits = {file.cgroups[cgroup].soft_bytes[gpu].load(),
                     file.cgroups[cgroup].hard_bytes[gpu].load()};
    if (file.memory_limits.load() != MemoryLimits::dmem) return limits;
    limits.soft_bytes = 0;
    for (std::uint32_t i = 0; i < kMaxCgroups; i++) {
        const Cgroup& below = file.cgroups[i];
        if (below.in_use.load() == 0 || !is_in(file, i, cgroup)) continue;
        limits.soft_bytes += below.soft_bytes[gpu].load() + below.left_bytes[gpu].load();
    }
    return limits;
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
    const MemoryLimits how = file.memory_limits.load();
    std::uint64_t left = kNoMemoryLimit;
    if (how == MemoryLimits::off) return left;
    std::uint32_t limited = nearest_limited(file, cgroup, gpu);
    while (limited != kNoCgroup) {
        const std::uint64_t limit = file.cgroups[limited].hard_bytes[gpu].load();
        const std::uint64_t used = cgroup_bytes(state, limited, gpu);
        const std::uint64_t rest = used < limit ? limit - used : 0;
        if (rest < left) left = rest;
        if (how == MemoryLimits::misc) break;
        limited = nearest_limited(file, file.cgroups[limited].parent.load(), gpu);
    }
    return left;
}

std::uint32_t cgroup_seen_by(const GpusFile& file, const CgroupName& name, int gpu) {
    std::uint32_t found = find_cgroup(file, name);
    if (file.memory_limits.load() == MemoryLimits::misc) {
        for (CgroupName above = name; found == kNoCgroup && to_parent(above);)
            found = find_cgroup(file, above);
    }
    return cgroup_seen_by(file, found, gpu);
}

std::uint32_t cgroup_seen_by(const GpusFile& file, std::uint32_t cgroup, int gpu) {
    switch (file.memory_limits.load()) {
        case MemoryLimits::off:
            break;
        case MemoryLimits::misc:
            return nearest_limited(file, cgroup, gpu);
        case MemoryLimits::dmem:
            return cgroup != kNoCgroup && is_limited(file, cgroup, gpu) ? cgroup : kNoCgroup;
    }
    return kNoCgroup;
}

}  // namespace gpusim
