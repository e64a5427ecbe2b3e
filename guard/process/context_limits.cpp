#include "guard/process/context_limits.hpp"

#include "guard/base/threads_at_once.hpp"
#include "guard/inject/driver.hpp"
#include "guard/process/charges.hpp"
#include "guard/process/process.hpp"

namespace tessera::guard {
namespace {

// The most that a driver takes for one byte of the limit; 0 if it does not report that.
std::uint64_t bytes_for_each(CUlimit limit, CUdevice device) {
    if (limit != CU_LIMIT_STACK_SIZE) return 1;
    return threads_at_once(driver()->cuDeviceGetAttribute, device);
}

ContextLimits* find_or_add(const Current& current) {
    Table<ContextLimits>& all = context_limits();
    const auto key = reinterpret_cast<std::uint64_t>(current.context);
    if (ContextLimits* known = all.find(key); known != nullptr) return known;
    ContextLimits begun = {current.context, current.gpu, {}, {}};
    for (int limit = 0; limit < kLimitsOfContext; limit++)
        driver()->cuCtxGetLimit(&begun.begun_with[limit], static_cast<CUlimit>(limit));
    return all.add(begun) ? all.find(key) : nullptr;
}

}  // namespace

CUresult reserve_for_limit(CUlimit limit, std::size_t value, CUcontext& context,
                           AllocationUnits& more) {
    if (limit < 0 || limit >= kLimitsOfContext || !driver()->cuCtxGetLimit) return CUDA_SUCCESS;
    Current current;
    if (const CUresult none = find_current(current); none != CUDA_SUCCESS) return none;
    context = current.context;
    ContextLimits* of = find_or_add(current);
    if (of == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    if (value <= of->begun_with[limit]) return CUDA_SUCCESS;
    const std::uint64_t each = bytes_for_each(limit, device_of(current.gpu));
    if (each == 0) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(value - of->begun_with[limit], each, &bytes))
        bytes = ~std::uint64_t{0};
    const AllocationUnits wanted = units_of(bytes);
    if (wanted <= of->counted[limit]) return CUDA_SUCCESS;
    const AllocationUnits missing = wanted - of->counted[limit];
    const CUresult over = reserve(current.gpu, missing * kAllocationUnitBytes);
    if (over != CUDA_SUCCESS) return over;
    more = missing;
    of->counted[limit] = wanted;
    return CUDA_SUCCESS;
}

void release_limit(CUlimit limit, CUcontext context, AllocationUnits more) {
    ContextLimits* of = context_limits().find(reinterpret_cast<std::uint64_t>(context));
    if (of == nullptr || more == 0) return;
    of->counted[limit] -= more;
    give_units(of->gpu, more);
}

void pass_on_limits_of(CUcontext from, CUcontext to) {
    Table<ContextLimits>& all = context_limits();
    ContextLimits moved = all.take(reinterpret_cast<std::uint64_t>(from));
    if (moved.context == nullptr) return;
    moved.context = to;
    const ContextLimits* known = all.find(reinterpret_cast<std::uint64_t>(to));
    for (int limit = 0; known != nullptr && limit < kLimitsOfContext; limit++) {
        moved.counted[limit] += known->counted[limit];
        moved.begun_with[limit] = known->begun_with[limit];
    }
    all.add(moved);  // there is room: an entry has just been removed
}

void release_limits_of(CUcontext context) {
    const ContextLimits gone = context_limits().take(reinterpret_cast<std::uint64_t>(context));
    for (const AllocationUnits units : gone.counted)
        give_units(gone.gpu, units);
}

}  // namespace tessera::guard
