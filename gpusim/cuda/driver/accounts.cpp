#include "gpusim/cuda/driver/accounts.hpp"

#include "gpusim/cuda/driver/driver.hpp"
#include "gpusim/state/cgroups.hpp"
#include "gpusim/state/compute_mode.hpp"
#include "gpusim/state/shared.hpp"
#include "gpusim/state/timeline.hpp"

namespace gpusim {
namespace {

// How many objects of this process hold each entry; it is a holder while there is one.
constinit unsigned holds[kMaxShared] = {};

class DecisionLock {
  public:
    DecisionLock() : is_held_(lock_byte(driver.state.locks_fd, kDecisionLock)) {}
    ~DecisionLock() {
        if (is_held_) unlock_byte(driver.state.locks_fd, kDecisionLock);
    }
    DecisionLock(const DecisionLock&) = delete;
    DecisionLock& operator=(const DecisionLock&) = delete;

    bool is_held() const { return is_held_; }

  private:
    bool is_held_;
};

// The three functions below require the decision lock.

CUresult need_slot() {
    if (driver.slot >= 0) return CUDA_SUCCESS;
    driver.slot = claim_slot(driver.state);
    if (driver.slot < 0) return CUDA_ERROR_DEVICE_UNAVAILABLE;
    driver.state.file->slots[driver.slot].mps_server.store(driver.mps.server);
    return CUDA_SUCCESS;
}

CUresult check_room(int gpu, std::uint64_t bytes) {
    return bytes > free_bytes(gpu) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

std::uint64_t rest_of(std::uint64_t bytes, std::uint64_t used) {
    return used < bytes ? bytes - used : 0;
}

// What counts for the pinned limit of MPS. Memory that this process has exported and released
// counts while it exists: the process could import it again.
std::uint64_t limited_bytes(int gpu) {
    if (driver.slot < 0) return 0;
    return driver.state.file->slots[driver.slot].bytes[gpu].load() +
           shared_bytes_made_by(driver.state, driver.slot, gpu);
}

// Without limits of cgroups.
std::uint64_t unlimited_free_bytes(int gpu) {
    const std::uint64_t capacity = capacity_bytes(driver.state.file->gpus[gpu]);
    const std::uint64_t free = rest_of(capacity, used_bytes(driver.state, gpu));
    const std::uint64_t limit = driver.mps.pinned_limit_bytes[gpu];
    if (limit == 0) return free;
    const std::uint64_t allowed = rest_of(limit, limited_bytes(gpu));
    return allowed < free ? allowed : free;
}

std::uint32_t own_cgroup() {
    return driver.slot < 0 ? kNoCgroup : driver.state.file->slots[driver.slot].cgroup.load();
}

// Counts an allocation that there is room for; true for the one that must fail.
bool is_ordered_to_fail(int gpu) {
    std::atomic<std::uint64_t>& left = driver.state.file->gpus[gpu].failing_allocation;
    const std::uint64_t before = left.load();
    if (before != 0) left.store(before - 1);
    return before == 1;
}

enum class Purpose { context, allocation };

CUresult add(int gpu, std::uint64_t bytes, unsigned contexts, Purpose purpose) {
    const DecisionLock lock;
    if (!lock.is_held()) return CUDA_ERROR_OPERATING_SYSTEM;
    if (const CUresult error = need_slot(); error != CUDA_SUCCESS) return error;
    if (contexts > 0 && !is_admitted(driver.state, gpu, driver.slot))
        return CUDA_ERROR_DEVICE_UNAVAILABLE;
    if (const CUresult error = check_room(gpu, bytes); error != CUDA_SUCCESS) return error;
    if (purpose == Purpose::allocation && is_ordered_to_fail(gpu)) return CUDA_ERROR_OUT_OF_MEMORY;
    // An exclusive GPU does not work for those that no longer count.
    if (contexts > 0) cut_off_dead(driver.state, gpu);
    Slot& slot = driver.state.file->slots[driver.slot];
    slot.bytes[gpu].store(slot.bytes[gpu].load() + bytes);
    slot.contexts[gpu].store(slot.contexts[gpu].load() + contexts);
    return CUDA_SUCCESS;
}

}  // namespace

std::uint64_t free_bytes(int gpu) {
    const std::uint64_t free = unlimited_free_bytes(gpu);
    const std::uint64_t allowed = bytes_left_by_limits(driver.state, own_cgroup(), gpu);
    return allowed < free ? allowed : free;
}

MemoryInfo memory_info(int gpu) {
    MemoryInfo info = {capacity_bytes(driver.state.file->gpus[gpu]), unlimited_free_bytes(gpu)};
    const std::uint32_t seen = cgroup_seen_by(*driver.state.file, own_cgroup(), gpu);
    if (seen == kNoCgroup) return info;
    const std::uint64_t limit = driver.state.file->cgroups[seen].hard_bytes[gpu].load();
    if (limit < info.total) info.total = limit;
    const std::uint64_t left = rest_of(limit, cgroup_bytes(driver.state, seen, gpu));
    if (left < info.free) info.free = left;
    return info;
}

CUresult charge(int gpu, std::uint64_t bytes, unsigned contexts) {
    return add(gpu, bytes, contexts, Purpose::context);
}

void discharge(int gpu, std::uint64_t bytes, unsigned contexts) {
    Slot& slot = driver.state.file->slots[driver.slot];
    slot.bytes[gpu].store(slot.bytes[gpu].load() - bytes);
    slot.contexts[gpu].store(slot.contexts[gpu].load() - contexts);
}

CUresult take(int gpu, std::uint64_t bytes) {
    return add(gpu, bytes, 0, Purpose::allocation);
}

CUresult take_shared(std::uint32_t gpu, std::uint64_t bytes, int* entry) {
    const DecisionLock lock;
    if (!lock.is_held()) return CUDA_ERROR_OPERATING_SYSTEM;
    if (const CUresult error = need_slot(); error != CUDA_SUCCESS) return error;
    if (gpu != kNoGpu) {
        const int index = static_cast<int>(gpu);
        if (const CUresult error = check_room(index, bytes); error != CUDA_SUCCESS) return error;
        if (is_ordered_to_fail(index)) return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *entry = make_shared(driver.state, driver.slot, gpu, bytes);
    if (*entry < 0) return CUDA_ERROR_OUT_OF_MEMORY;
    holds[*entry] = 1;
    return CUDA_SUCCESS;
}

// The entry is made first: for a moment a reader without the lock sees the bytes twice, but never
// misses them.
int share(int gpu, std::uint64_t bytes) {
    const DecisionLock lock;
    if (!lock.is_held()) return -1;
    const int entry =
        make_shared(driver.state, driver.slot, static_cast<std::uint32_t>(gpu), bytes);
    if (entry < 0) return -1;
    holds[entry] = 1;
    discharge(gpu, bytes, 0);
    return entry;
}

bool hold_shared(int entry, std::uint64_t serial) {
    const DecisionLock lock;
    if (!lock.is_held() || need_slot() != CUDA_SUCCESS) return false;
    if (!join_shared(driver.state, driver.slot, entry, serial)) return false;
    holds[entry]++;
    return true;
}

void drop_shared(int entry) {
    if (--holds[entry] > 0) return;
    const DecisionLock lock;
    leave_shared(driver.state, driver.slot, entry);
}

bool is_own(int entry) {
    const SharedMemory& shared = driver.state.file->shared[entry];
    return holds[entry] > 0 && shared.creator.load() == static_cast<std::uint32_t>(driver.slot);
}

}  // namespace gpusim
