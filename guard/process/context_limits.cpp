#include "guard/process/context_limits.hpp"

#include "guard/inject/driver.hpp"
#include "guard/process/process.hpp"

namespace tessera::guard {
namespace {

// The most that a driver takes for one byte of the limit; 1 where it cannot be asked.
std::uint64_t bytes_for_each(CUlimit limit, CUdevice device) {
    const auto& ask = driver()->cuDeviceGetAttribute;
    int multiprocessors = 0;
    int threads = 0;
    if (limit != CU_LIMIT_STACK_SIZE || !ask ||
        ask(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device) != CUDA_SUCCESS ||
        ask(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, device) != CUDA_SUCCESS ||
        multiprocessors <= 0 || threads <= 0)
        return 1;
    return static_cast<std::uint64_t>(multiprocessors) * static_cast<std::uint64_t>(threads);
}

ContextLimits* find_or_add(const Current& current) {
    Table<ContextLimits>& all = context_limits();
    const auto key = reinterpret_cast<std::uint64_t>(current.context);
    if (ContextLimits* known = all.find(key); known != nullptr) return known;
    ContextLimits begun = {current.context, current.card, {}, {}};
    for (int limit = 0; limit < kLimitsOfContext; limit++)
        driver()->cuCtxGetLimit(&begun.begun_with[limit], static_cast<CUlimit>(limit));
    return all.add(begun) ? all.find(key) : nullptr;
}

}  // namespace

CUresult set_limit_aside(CUlimit limit, std::size_t value, CUcontext& context, Granules& more) {
    if (limit < 0 || limit >= kLimitsOfContext || !driver()->cuCtxGetLimit) return CUDA_SUCCESS;
    Current current;
    if (const CUresult none = find_current(current); none != CUDA_SUCCESS) return none;
    context = current.context;
    ContextLimits* of = find_or_add(current);
    if (of == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    if (value <= of->begun_with[limit]) return CUDA_SUCCESS;
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(value - of->begun_with[limit],
                               bytes_for_each(limit, device_of(current.card)), &bytes))
        bytes = ~std::uint64_t{0};
    const Granules wanted = granules_of(bytes);
    if (wanted <= of->counted[limit]) return CUDA_SUCCESS;
    const Granules missing = wanted - of->counted[limit];
    const CUresult over = set_aside(current.card, missing * kGranuleBytes);
    if (over != CUDA_SUCCESS) return over;
    more = missing;
    of->counted[limit] = wanted;
    return CUDA_SUCCESS;
}

void put_back_limit(CUlimit limit, CUcontext context, Granules more) {
    ContextLimits* of = context_limits().find(reinterpret_cast<std::uint64_t>(context));
    if (of == nullptr || more == 0) return;
    of->counted[limit] -= more;
    give_granules(of->card, more);
}

void put_back_limits_of(CUcontext context) {
    const ContextLimits gone = context_limits().take(reinterpret_cast<std::uint64_t>(context));
    for (const Granules granules : gone.counted)
        give_granules(gone.card, granules);
}

}  // namespace tessera::guard
