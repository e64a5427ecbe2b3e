#include "guard/process/context_cost.hpp"

#include "guard/compute/timing.hpp"
#include "guard/inject/nvml.hpp"
#include "guard/process/measured.hpp"
#include "guard/region/uuid.hpp"

namespace tessera::guard {
namespace {

bool differ(std::uint64_t one, std::uint64_t other) {
    return (one > other ? one - other : other - one) > kLargeDifference;
}

}  // namespace

// Begun and ended each time: NVML is the program's, and counts who has begun it.
ContextCost::ContextCost(int card) : card_(card) {
    const Nvml* real = nvml();
    if (real == nullptr || !real->nvmlInit_v2 || !real->nvmlShutdown ||
        !real->nvmlDeviceGetHandleByUUID || !real->nvmlDeviceGetMemoryInfo)
        return;
    has_begun_ = real->nvmlInit_v2() == NVML_SUCCESS;
    if (!has_begun_) return;
    char uuid[kUuidText + 1];
    write_uuid(card_limit(card).uuid, uuid);
    nvmlDevice_t device = nullptr;
    if (real->nvmlDeviceGetHandleByUUID(uuid, &device) != NVML_SUCCESS) return;
    device_ = device;
    is_measured_ = read(before_);
}

ContextCost::~ContextCost() {
    if (has_begun_) nvml()->nvmlShutdown();
}

bool ContextCost::read(std::int64_t& bytes) const {
    nvmlMemory_t memory = {};
    auto* device = static_cast<nvmlDevice_t>(device_);
    if (nvml()->nvmlDeviceGetMemoryInfo(device, &memory) != NVML_SUCCESS) return false;
    bytes = static_cast<std::int64_t>(memory.used) - static_cast<std::int64_t>(held_now(card_));
    return true;
}

std::uint64_t ContextCost::taken(std::uint64_t expected) const {
    std::int64_t after = 0;
    if (!is_measured_ || !read(after)) return expected;
    return after > before_ ? static_cast<std::uint64_t>(after - before_) : 0;
}

bool is_worth_a_second_look(int card, std::uint64_t bytes) {
    const std::uint64_t expected = context_bytes(card);
    return bytes > kLargeDifference && (expected == 0 || differ(bytes, expected));
}

std::uint64_t note_context_cost(int card, std::uint64_t bytes) {
    std::atomic<Granules>& last = seat().accounts->context_costs[card];
    const std::uint64_t before = std::uint64_t{last.load()} * kGranuleBytes;
    if (before != 0 && before < bytes && differ(before, bytes)) bytes = before;
    last.store(granules_of(bytes));
    return bytes;
}

}  // namespace tessera::guard
