#include "guard/process/driver_memory.hpp"

#include <atomic>

#include "guard/base/locked.hpp"
#include "guard/process/context_limits.hpp"
#include "guard/process/process.hpp"
#include "guard/region/account.hpp"

namespace tessera::guard {

std::uint64_t unexplained(int gpu) {
    std::size_t free = 0;
    std::size_t total = 0;
    const auto& ask = driver()->cuMemGetInfo_v2;
    if (!ask || ask(&free, &total) != CUDA_SUCCESS) return 0;
    return free + held_now(gpu);
}

std::uint64_t account_version(int gpu) {
    return version_of(*process_slot().accounts, gpu);
}

FirstUse::FirstUse() : is_in_context_(find_current(current_) == CUDA_SUCCESS) {}

CUresult FirstUse::prepare(CUfunction function) {
    const auto& ask = driver()->cuFuncGetAttribute;
    int bytes = 0;
    if (!is_in_context_ || !ask ||
        ask(&bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function) != CUDA_SUCCESS || bytes <= 0)
        return CUDA_SUCCESS;
    const Locked lock(contexts().mutex);
    CUcontext context = nullptr;
    AllocationUnits more = 0;
    const CUresult over =
        reserve_for_limit(CU_LIMIT_STACK_SIZE, static_cast<std::size_t>(bytes), context, more);
    expected_ = more * kAllocationUnitBytes;
    // If the cost is unknown, the driver decides.
    return over == CUDA_ERROR_UNSUPPORTED_LIMIT ? CUDA_SUCCESS : over;
}

void FirstUse::read() {
    if (!is_in_context_) return;
    version_ = account_version(current_.gpu);
    before_ = unexplained(current_.gpu);
}

void FirstUse::count(std::uint64_t owner) const {
    if (before_ == 0) return;
    const std::uint64_t after = unexplained(current_.gpu) + expected_;
    if (after == expected_ || account_version(current_.gpu) != version_) return;
    const std::uint64_t missing = before_ > after ? before_ - after : 0;
    // A difference of one allocation unit may be one that other small allocations share.
    if (missing > kAllocationUnitBytes)
        grow_recorded(owner, missing < kLargeDifference ? missing : kLargeDifference);
}

void FirstUse::count_with_module_of(CUfunction function) const {
    const auto& ask = driver()->cuFuncGetModule;
    CUmodule module = nullptr;
    if (ask && ask(&module, function) == CUDA_SUCCESS)
        count(reinterpret_cast<std::uint64_t>(module));
}

}  // namespace tessera::guard
