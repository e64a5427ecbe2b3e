#include "gpusim/state/state.hpp"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "gpusim/state/cgroups.hpp"
#include "gpusim/state/shared.hpp"
#include "gpusim/state/timeline.hpp"

namespace gpusim {
namespace {

struct ObjectQuery {
    ElfW(Addr) address;
    char* path;
};

int keep_path_if_inside(dl_phdr_info* info, std::size_t, void* data) {
    auto* query = static_cast<ObjectQuery*>(data);
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const auto& header = info->dlpi_phdr[i];
        const ElfW(Addr) start = info->dlpi_addr + header.p_vaddr;
        if (header.p_type != PT_LOAD || query->address < start) continue;
        if (query->address - start >= header.p_memsz) continue;
        if (realpath(info->dlpi_name, query->path) == nullptr) query->path[0] = '\0';
        return 1;
    }
    return 0;
}

bool join(char (&out)[kMaxPath], const char* directory, const char* name) {
    const int length = std::snprintf(out, sizeof out, "%s/%s", directory, name);
    return length > 0 && length < kMaxPath;
}

OpenResult result_of_errno() {
    return errno == EACCES || errno == EROFS || errno == EPERM ? OpenResult::not_permitted
                                                               : OpenResult::absent;
}

OpenResult map_gpus(const char* directory, Access access, GpusFile*& file) {
    char path[kMaxPath];
    if (!join(path, directory, "gpus")) return OpenResult::absent;
    const bool writable = access == Access::read_write;
    const int fd = open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (fd < 0) return result_of_errno();
    const bool right_size = lseek(fd, 0, SEEK_END) == static_cast<off_t>(sizeof(GpusFile));
    void* memory = MAP_FAILED;
    if (right_size) {
        const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
        memory = mmap(nullptr, sizeof(GpusFile), protection, MAP_SHARED, fd, 0);
    }
    close(fd);
    if (memory == MAP_FAILED) return OpenResult::foreign;
    auto* mapped = static_cast<GpusFile*>(memory);
    if (std::memcmp(mapped->magic, kMagic, sizeof kMagic) != 0 ||
        mapped->version != kLayoutVersion || mapped->gpu_count > kMaxGpus) {
        munmap(memory, sizeof(GpusFile));
        return OpenResult::foreign;
    }
    file = mapped;
    return OpenResult::ok;
}

// statx, like dl_iterate_phdr below, exists since glibc 2.28. stat and dladdr would bind the
// libraries to 2.33 and 2.34, and many images that load them are older.
bool is_same_file(const char* path, int fd) {
    struct statx a = {};
    struct statx b = {};
    return statx(AT_FDCWD, path, 0, STATX_INO, &a) == 0 &&
           statx(fd, "", AT_EMPTY_PATH, STATX_INO, &b) == 0 && a.stx_ino == b.stx_ino &&
           a.stx_dev_major == b.stx_dev_major && a.stx_dev_minor == b.stx_dev_minor;
}

// A second descriptor of the same file could never be closed, so a process that initializes NVML
// and shuts it down in a loop must get its first descriptor back.
OpenResult open_locks(const char* directory, Access access, int& locks_fd) {
    char path[kMaxPath];
    if (!join(path, directory, "locks")) return OpenResult::absent;
    if (locks_fd >= 0 && is_same_file(path, locks_fd)) return OpenResult::ok;
    const int fd = open(path, (access == Access::read_write ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (fd < 0) return result_of_errno();
    locks_fd = fd;
    return OpenResult::ok;
}

// No lock of this file belongs to the process, so its descriptors may be opened and closed.
OpenResult open_memory(const char* directory, Access access, int& memory_fd) {
    char path[kMaxPath];
    if (!join(path, directory, "memory")) return OpenResult::absent;
    const int fd = open(path, (access == Access::read_write ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (fd < 0) return result_of_errno();
    if (memory_fd >= 0) close(memory_fd);
    memory_fd = fd;
    return OpenResult::ok;
}

}  // namespace

bool find_directory(const void* symbol, char (&directory)[kMaxPath]) {
    if (const char* set = std::getenv("GPUSIM_DIR"); set != nullptr && *set != '\0') {
        return std::snprintf(directory, kMaxPath, "%s", set) < kMaxPath;
    }
    char object[PATH_MAX] = {};
    ObjectQuery query = {reinterpret_cast<ElfW(Addr)>(symbol), object};
    dl_iterate_phdr(keep_path_if_inside, &query);
    char* slash = std::strrchr(object, '/');
    if (slash == nullptr) return false;
    *slash = '\0';
    return join(directory, object, "gpusim");
}

OpenResult open_state(State& state, const char* directory, Access access) {
    GpusFile* file = nullptr;
    if (const OpenResult mapped = map_gpus(directory, access, file); mapped != OpenResult::ok) {
        return mapped;
    }
    OpenResult opened = open_locks(directory, access, state.locks_fd);
    if (opened == OpenResult::ok) opened = open_memory(directory, access, state.memory_fd);
    if (opened != OpenResult::ok) {
        munmap(file, sizeof(GpusFile));
        return opened;
    }
    if (state.file != nullptr) munmap(state.file, sizeof(GpusFile));
    state.file = file;
    if (directory != state.directory) {
        std::snprintf(state.directory, sizeof state.directory, "%s", directory);
    }
    return OpenResult::ok;
}

OpenResult change_gpu(const State& state, int gpu, void (*change)(Gpu& gpu, unsigned value),
                      unsigned value) {
    GpusFile* file = nullptr;
    const OpenResult mapped = map_gpus(state.directory, Access::read_write, file);
    if (mapped != OpenResult::ok) return mapped;
    change(file->gpus[gpu], value);
    munmap(file, sizeof(GpusFile));
    return OpenResult::ok;
}

void close_state(State& state) {
    if (state.file != nullptr) munmap(state.file, sizeof(GpusFile));
    if (state.locks_fd >= 0) close(state.locks_fd);
    if (state.memory_fd >= 0) close(state.memory_fd);
    state.file = nullptr;
    state.locks_fd = state.memory_fd = -1;
}

bool has_marker(const State& state, const Gpu& gpu) {
    char path[kMaxPath];
    const int length = std::snprintf(path, sizeof path, "%s/dev/nvidia%u", state.directory,
                                     static_cast<unsigned>(gpu.minor));
    return length > 0 && length < kMaxPath && access(path, F_OK) == 0;
}

pid_t slot_owner(const State& state, int slot) {
    if (state.file->slots[slot].in_use.load() == 0) return kNobody;
    return lock_holder(state.locks_fd, slot);
}

std::uint64_t used_bytes(const State& state, int gpu) {
    std::uint64_t sum = shared_bytes(state, gpu);
    for (int i = 0; i < kMaxSlots; i++) {
        const std::uint64_t bytes = state.file->slots[i].bytes[gpu].load();
        if (bytes != 0 && slot_owner(state, i) != kNobody) sum += bytes;
    }
    return sum;
}

std::uint64_t slot_bytes(const State& state, int slot, int gpu) {
    const Slot& held = state.file->slots[slot];
    if (held.in_use.load() == 0) return 0;
    return held.bytes[gpu].load() + shared_bytes_of(state, slot, gpu);
}

int claim_slot(State& state) {
    std::uint32_t cgroup = kNoCgroup;
    if (!enter_own_cgroup(state, cgroup)) return -1;
    for (int i = 0; i < kMaxSlots; i++) {
        if (slot_owner(state, i) != kNobody) continue;
        Slot& slot = state.file->slots[i];
        // While the dead owner has bookings, the slot says whether it was a client of MPS: the
        // time that it shared with others depends on that.
        clear_bookings(state, i);
        // Wiped before it is locked: a reader must not take a dead owner's values for the new
        // one's.
        slot.in_use.store(0);
        slot.is_mps_server.store(0);
        slot.mps_server.store(0);
        slot.is_ended.store(0);
        slot.cgroup.store(cgroup);
        for (int gpu = 0; gpu < kMaxGpus; gpu++) {
            slot.bytes[gpu].store(0);
            slot.contexts[gpu].store(0);
        }
        forget_holder(*state.file, i);
        if (!try_lock_byte(state.locks_fd, i)) continue;
        if (state.file->slots_end.load() <= i) state.file->slots_end.store(i + 1);
        slot.in_use.store(1);
        return i;
    }
    return -1;
}

}  // namespace gpusim
