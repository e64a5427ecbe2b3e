#include "gpusim/state/shared.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

namespace gpusim {
namespace {

// The file position of an exported descriptor. ext4 ends at 2^44, so the serial is cut.
constexpr std::uint64_t kSerialMask = 0xffffffff;

off_t position_of(int entry, std::uint64_t serial) {
    return static_cast<off_t>((serial & kSerialMask) * kMaxShared) + entry;
}

bool is_holder(const SharedMemory& shared, int slot) {
    return (shared.holders[slot / 64].load() >> (slot % 64) & 1) != 0;
}

bool is_made_by(const SharedMemory& shared, int slot, int gpu) {
    return shared.bytes.load() != 0 && shared.gpu.load() == static_cast<std::uint32_t>(gpu) &&
           shared.creator.load() == static_cast<std::uint32_t>(slot);
}

bool has_live_holder(const State& state, const SharedMemory& shared) {
    for (int word = 0; word < kMaxSlots / 64; word++) {
        for (std::uint64_t bits = shared.holders[word].load(); bits != 0; bits &= bits - 1) {
            if (slot_owner(state, word * 64 + __builtin_ctzll(bits)) != kNobody) return true;
        }
    }
    return false;
}

// Frees the pages; they read as zeros from then on.
void clear_content(const State& state, std::uint64_t offset, std::uint64_t bytes) {
    fallocate(state.memory_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              static_cast<off_t>(offset), static_cast<off_t>(bytes));
}

// First fit.
std::uint64_t find_offset(const GpusFile& file, std::uint64_t bytes) {
    std::uint64_t offset = 0;
    for (int i = 0; i < file.shared_end.load(); i++) {
        const SharedMemory& other = file.shared[i];
        const std::uint64_t start = other.offset.load();
        const std::uint64_t end = start + other.bytes.load();
        if (start == end || offset + bytes <= start || end <= offset) continue;
        offset = end;
        i = -1;
    }
    return offset;
}

// Frees entries that no process holds any more, with their content: their holders were killed.
void bury(const State& state) {
    for (int i = 0; i < state.file->shared_end.load(); i++) {
        SharedMemory& shared = state.file->shared[i];
        if (shared.bytes.load() == 0 || is_held(state, i)) continue;
        clear_content(state, shared.offset.load(), shared.bytes.load());
        shared.bytes.store(0);
    }
}

int find_free_entry(GpusFile& file) {
    for (int i = 0; i < kMaxShared; i++) {
        if (file.shared[i].bytes.load() != 0) continue;
        if (file.shared_end.load() <= i) file.shared_end.store(i + 1);
        return i;
    }
    return -1;
}

bool is_same_file(int a, int b) {
    struct statx left = {};
    struct statx right = {};
    return statx(a, "", AT_EMPTY_PATH, STATX_INO, &left) == 0 &&
           statx(b, "", AT_EMPTY_PATH, STATX_INO, &right) == 0 && left.stx_ino == right.stx_ino &&
           left.stx_dev_major == right.stx_dev_major && left.stx_dev_minor == right.stx_dev_minor;
}

}  // namespace

std::uint64_t shared_bytes(const State& state, int gpu) {
    std::uint64_t sum = 0;
    for (int i = 0; i < state.file->shared_end.load(); i++) {
        const SharedMemory& shared = state.file->shared[i];
        const std::uint64_t bytes = shared.bytes.load();
        if (bytes == 0 || shared.gpu.load() != static_cast<std::uint32_t>(gpu)) continue;
        if (is_held(state, i)) sum += bytes;
    }
    return sum;
}

std::uint64_t shared_bytes_of(const State& state, int slot, int gpu) {
    std::uint64_t sum = 0;
    for (int i = 0; i < state.file->shared_end.load(); i++) {
        const SharedMemory& shared = state.file->shared[i];
        if (is_made_by(shared, slot, gpu) && is_holder(shared, slot)) sum += shared.bytes.load();
    }
    return sum;
}

std::uint64_t shared_bytes_made_by(const State& state, int slot, int gpu) {
    std::uint64_t sum = 0;
    for (int i = 0; i < state.file->shared_end.load(); i++) {
        const SharedMemory& shared = state.file->shared[i];
        if (is_made_by(shared, slot, gpu) && is_held(state, i)) sum += shared.bytes.load();
    }
    return sum;
}

bool is_held(const State& state, int entry) {
    const SharedMemory& shared = state.file->shared[entry];
    if (has_live_holder(state, shared)) return true;
    return shared.is_exported.load() != 0 && lock_holder(state.memory_fd, entry) != kNobody;
}

void forget_holder(GpusFile& file, int slot) {
    for (int i = 0; i < file.shared_end.load(); i++) {
        SharedMemory& shared = file.shared[i];
        if (shared.creator.load() == static_cast<std::uint32_t>(slot)) {
            shared.creator.store(kNoSlot);
        }
        shared.holders[slot / 64].fetch_and(~(std::uint64_t{1} << (slot % 64)));
    }
}

int make_shared(const State& state, int slot, std::uint32_t gpu, std::uint64_t bytes) {
    GpusFile& file = *state.file;
    bury(state);
    const int entry = find_free_entry(file);
    if (entry < 0) return -1;
    const std::uint64_t offset = find_offset(file, bytes);
    const off_t end = static_cast<off_t>(offset + bytes);
    if (lseek(state.memory_fd, 0, SEEK_END) < end && ftruncate(state.memory_fd, end) != 0) {
        return -1;
    }
    clear_content(state, offset, bytes);
    SharedMemory& shared = file.shared[entry];
    shared.serial.store(file.shared_total.load() + 1);
    file.shared_total.store(shared.serial.load());
    shared.offset.store(offset);
    shared.gpu.store(gpu);
    shared.creator.store(static_cast<std::uint32_t>(slot));
    shared.is_exported.store(0);
    shared.cgroup.store(file.slots[slot].cgroup.load());
    for (std::atomic<std::uint64_t>& word : shared.holders)
        word.store(0);
    shared.holders[slot / 64].store(std::uint64_t{1} << (slot % 64));
    shared.bytes.store(bytes);  // last: the entry is free until this store
    return entry;
}

bool join_shared(const State& state, int slot, int entry, std::uint64_t serial) {
    SharedMemory& shared = state.file->shared[entry];
    const bool is_there = shared.bytes.load() != 0 &&
                          ((shared.serial.load() ^ serial) & kSerialMask) == 0 &&
                          is_held(state, entry);
    if (is_there) shared.holders[slot / 64].fetch_or(std::uint64_t{1} << (slot % 64));
    return is_there;
}

void leave_shared(const State& state, int slot, int entry) {
    SharedMemory& shared = state.file->shared[entry];
    shared.holders[slot / 64].fetch_and(~(std::uint64_t{1} << (slot % 64)));
    if (is_held(state, entry)) return;
    clear_content(state, shared.offset.load(), shared.bytes.load());
    shared.bytes.store(0);
}

int export_shared(const State& state, int entry) {
    char path[kMaxPath];
    const int length = std::snprintf(path, sizeof path, "%s/memory", state.directory);
    if (length < 0 || length >= kMaxPath) return -1;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return -1;
    SharedMemory& shared = state.file->shared[entry];
    struct flock lock = {};
    lock.l_type = F_RDLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = entry;
    lock.l_len = 1;
    const off_t position = position_of(entry, shared.serial.load());
    if (fcntl(fd, F_OFD_SETLK, &lock) != 0 || lseek(fd, position, SEEK_SET) != position) {
        close(fd);
        return -1;
    }
    shared.is_exported.store(1);
    return fd;
}

SharedName name_of_export(const State& state, int fd) {
    SharedName name;
    if (fd < 0 || !is_same_file(fd, state.memory_fd)) return name;
    const off_t position = lseek(fd, 0, SEEK_CUR);
    if (position < kMaxShared) return name;  // serials begin with 1
    name.entry = static_cast<int>(position % kMaxShared);
    name.serial = static_cast<std::uint64_t>(position / kMaxShared);
    return name;
}

}  // namespace gpusim
