#include "gpusim/cuda/driver/accounts.hpp"

#include "gpusim/cuda/driver/driver.hpp"
#include "gpusim/state/shared.hpp"

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

// The three below want the decision lock.

CUresult need_slot() {
    if (driver.slot < 0) driver.slot = claim_slot(driver.state);
    return driver.slot < 0 ? CUDA_ERROR_DEVICE_UNAVAILABLE : CUDA_SUCCESS;
}

CUresult check_room(int card, std::uint64_t bytes) {
    const std::uint64_t capacity = capacity_bytes(driver.state.file->cards[card]);
    const std::uint64_t used = used_bytes(driver.state, card);
    return used > capacity || bytes > capacity - used ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

// Counts an allocation that there is room for; true for the one that was ordered to fail.
bool is_ordered_to_fail(int card) {
    std::atomic<std::uint64_t>& left = driver.state.file->cards[card].failing_allocation;
    const std::uint64_t before = left.load();
    if (before != 0) left.store(before - 1);
    return before == 1;
}

enum class Purpose { context, allocation };

CUresult add(int card, std::uint64_t bytes, unsigned contexts, Purpose purpose) {
    const DecisionLock lock;
    if (!lock.is_held()) return CUDA_ERROR_OPERATING_SYSTEM;
    if (const CUresult error = need_slot(); error != CUDA_SUCCESS) return error;
    if (const CUresult error = check_room(card, bytes); error != CUDA_SUCCESS) return error;
    if (purpose == Purpose::allocation && is_ordered_to_fail(card)) return CUDA_ERROR_OUT_OF_MEMORY;
    Slot& slot = driver.state.file->slots[driver.slot];
    slot.bytes[card].store(slot.bytes[card].load() + bytes);
    slot.contexts[card].store(slot.contexts[card].load() + contexts);
    return CUDA_SUCCESS;
}

}  // namespace

CUresult charge(int card, std::uint64_t bytes, unsigned contexts) {
    return add(card, bytes, contexts, Purpose::context);
}

void discharge(int card, std::uint64_t bytes, unsigned contexts) {
    Slot& slot = driver.state.file->slots[driver.slot];
    slot.bytes[card].store(slot.bytes[card].load() - bytes);
    slot.contexts[card].store(slot.contexts[card].load() - contexts);
}

CUresult take(int card, std::uint64_t bytes) {
    return add(card, bytes, 0, Purpose::allocation);
}

CUresult take_shared(std::uint32_t card, std::uint64_t bytes, int* entry) {
    const DecisionLock lock;
    if (!lock.is_held()) return CUDA_ERROR_OPERATING_SYSTEM;
    if (const CUresult error = need_slot(); error != CUDA_SUCCESS) return error;
    if (card != kNoCard) {
        const int index = static_cast<int>(card);
        if (const CUresult error = check_room(index, bytes); error != CUDA_SUCCESS) return error;
        if (is_ordered_to_fail(index)) return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *entry = make_shared(driver.state, driver.slot, card, bytes);
    if (*entry < 0) return CUDA_ERROR_OUT_OF_MEMORY;
    holds[*entry] = 1;
    return CUDA_SUCCESS;
}

// The entry comes first: for a moment a reader without the lock sees the bytes twice, never not.
int share(int card, std::uint64_t bytes) {
    const DecisionLock lock;
    if (!lock.is_held()) return -1;
    const int entry =
        make_shared(driver.state, driver.slot, static_cast<std::uint32_t>(card), bytes);
    if (entry < 0) return -1;
    holds[entry] = 1;
    discharge(card, bytes, 0);
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
