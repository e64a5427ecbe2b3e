#include "guard/process/context_cost.hpp"

#include "guard/base/measured.hpp"
#include "guard/inject/nvml.hpp"
#include "guard/process/charges.hpp"
#include "guard/process/timing.hpp"
#include "guard/region/account.hpp"
#include "guard/region/uuid.hpp"

namespace tessera::guard {
namespace {

MeasuredCost& first_cost(ContextOf of) {
    return process_slot().accounts->context_costs[of.gpu][of.kind];
}

}  // namespace

// The scheduling flags only say how threads wait, and take no memory of the GPU.
int context_kind_of(unsigned flags, bool has_more) {
    constexpr unsigned kOthers = CU_CTX_FLAGS_MASK & ~CU_CTX_SCHED_MASK;
    constexpr unsigned kLowest = CU_CTX_SCHED_MASK + 1;
    static_assert(2 * (kOthers / kLowest + 1) == kContextKinds);
    return static_cast<int>((flags & kOthers) / kLowest + (has_more ? kContextKinds / 2 : 0));
}

// Initializes NVML and shuts it down each time: NVML belongs to the program and counts its users.
ContextCost::ContextCost(int gpu) : gpu_(gpu) {
    const Nvml* real = found_nvml();
    if (real == nullptr || !real->nvmlInit_v2 || !real->nvmlShutdown ||
        !real->nvmlDeviceGetHandleByUUID || !real->nvmlDeviceGetMemoryInfo)
        return;
    has_begun_ = real->nvmlInit_v2() == NVML_SUCCESS;
    if (!has_begun_) return;
    char uuid[kUuidText + 1];
    write_uuid(gpu_limit(gpu).uuid, uuid);
    nvmlDevice_t device = nullptr;
    if (real->nvmlDeviceGetHandleByUUID(uuid, &device) != NVML_SUCCESS) return;
    device_ = device;
    is_measured_ = read(before_);
}

ContextCost::~ContextCost() {
    if (has_begun_) found_nvml()->nvmlShutdown();
}

// The version is read first, and what is held is read last. So a change of the account between the
// two is noticed.
bool ContextCost::read(Reading& reading) const {
    nvmlMemory_t memory = {};
    auto* device = static_cast<nvmlDevice_t>(device_);
    reading.version = version_of(*process_slot().accounts, gpu_);
    if (found_nvml()->nvmlDeviceGetMemoryInfo(device, &memory) != NVML_SUCCESS) return false;
    reading.bytes =
        static_cast<std::int64_t>(memory.used) - static_cast<std::int64_t>(held_now(gpu_));
    return true;
}

ContextCost::Taken ContextCost::taken() const {
    Reading after = {};
    if (!is_measured_ || !read(after)) return {false, false, 0};
    const std::int64_t bytes = after.bytes > before_.bytes ? after.bytes - before_.bytes : 0;
    const bool stood_still = version_of(*process_slot().accounts, gpu_) == before_.version;
    return {true, stood_still, static_cast<std::uint64_t>(bytes)};
}

ContextCosts::ContextCosts(ContextOf of, std::uint64_t expected)
    : of_(of), expected_(expected), is_known_(first_cost(of).is_known()) {}

bool ContextCosts::add(const ContextCost::Taken& taken) {
    if (!taken.is_measured) return true;
    readings_++;
    if (taken.bytes > most_) most_ = taken.bytes;
    if (taken.is_certain) {
        if (certain_++ == 0 || taken.bytes < least_certain_) least_certain_ = taken.bytes;
    }
    if (is_known_ || readings_ == kMostReadings) return true;
    const int wanted = least_certain_ > expected_ + kLargeDifference ? 2 : 1;
    return certain_ >= wanted;
}

// Counting too much is visible and ends with the container. Counting too little would stay
// unnoticed.
std::uint64_t ContextCosts::counted() const {
    if (readings_ == 0) return expected_;
    std::uint64_t bytes = certain_ > 0 ? least_certain_ : most_;
    if (is_known_ && (certain_ == 0 || bytes > expected_ + kLargeDifference)) bytes = expected_;
    if (bytes < expected_) bytes = expected_;
    if (certain_ > 0) first_cost(of_).record(units_of(bytes));
    return bytes;
}

}  // namespace tessera::guard
