// cuCtxSetLimit and cuCtxGetLimit. A limit's initial value is in the context's overhead. When a
// limit is raised, the GPU gives the memory at once, in allocation units, and gets it back when the
// limit is lowered. A real driver takes some of it later, when a kernel needs it.
#include "gpusim/cuda/driver/context_limits.hpp"

#include "gpusim/cuda/driver/accounts.hpp"
#include "gpusim/cuda/work/module.hpp"

using gpusim::Context;
using gpusim::Session;

namespace {

struct Limit {
    std::size_t begins_with;
    std::uint64_t units;  // how many bytes one byte of the limit takes; 0: one for each thread
};

// By CUlimit.
constexpr Limit kOf[gpusim::kLimits] = {
    {1024, 0},
    {std::size_t{1} << 20, 1},
    {std::size_t{8} << 20, 1},
};

std::size_t value_of(const Context& context, int limit) {
    const std::size_t set = context.limits[limit];
    return set != 0 ? set : kOf[limit].begins_with;
}

// Cut to more bytes than any GPU has, so that nothing here overflows.
std::uint64_t growth(const Context& context, int limit, std::size_t value) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 50;
    const Limit& of = kOf[limit];
    const std::uint64_t threads =
        std::uint64_t{gpusim::gpu_of(context).multiprocessors} * gpusim::kThreadsPerMultiprocessor;
    const std::uint64_t units = of.units != 0 ? of.units : threads;
    if (value <= of.begins_with) return 0;
    const std::uint64_t more = value - of.begins_with;
    const std::uint64_t bytes = more < kMost / units ? more * units : kMost;
    return (bytes + gpusim::kAllocationUnitBytes - 1) / gpusim::kAllocationUnitBytes *
           gpusim::kAllocationUnitBytes;
}

bool is_modelled(CUlimit limit) {
    return limit >= CU_LIMIT_STACK_SIZE && limit <= CU_LIMIT_MALLOC_HEAP_SIZE;
}

}  // namespace

namespace gpusim {

void reset_limits(Context& context) {
    for (int limit = 0; limit < kLimits; limit++) {
        discharge(context.gpu, context.limit_bytes[limit], 0);
        context.limits[limit] = 0;
        context.limit_bytes[limit] = 0;
    }
}

CUresult grow_stack(Context& context, std::size_t bytes) {
    const std::uint64_t wanted = growth(context, CU_LIMIT_STACK_SIZE, bytes);
    std::uint64_t& given = context.limit_bytes[CU_LIMIT_STACK_SIZE];
    if (wanted <= given) return CUDA_SUCCESS;
    const CUresult full = charge(context.gpu, wanted - given, 0);
    if (full == CUDA_SUCCESS) given = wanted;
    return full;
}

}  // namespace gpusim

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Context* context = nullptr;
    if (const CUresult none = gpusim::current_context(&context); none != CUDA_SUCCESS) return none;
    if (!is_modelled(limit)) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    const std::uint64_t wanted = growth(*context, limit, value);
    std::uint64_t& given = context->limit_bytes[limit];
    if (wanted > given) {
        const CUresult full = gpusim::charge(context->gpu, wanted - given, 0);
        if (full != CUDA_SUCCESS) return full;
    } else {
        gpusim::discharge(context->gpu, given - wanted, 0);
    }
    given = wanted;
    context->limits[limit] = value;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Context* context = nullptr;
    if (const CUresult none = gpusim::current_context(&context); none != CUDA_SUCCESS) return none;
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!is_modelled(limit)) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *value = value_of(*context, limit);
    return CUDA_SUCCESS;
}
