// What a context grows by when a program raises its limits (cuCtxSetLimit). A driver may take the
// memory at once, or when a kernel first needs it. So the guard reserves it when the limit is set.
// It stays charged until the context ends, because no driver promises to release any of it earlier.
// The initial limits are charged with the context (context_cost.hpp).
//
// Source of the sizes: the reference of cuCtxSetLimit (CUDA 12.9). The printf FIFO and the heap are
// in bytes; the stack is per thread that the GPU can run at once.
//
// The mutex of contexts protects this data. All functions require that begin() has succeeded.
#pragma once

#include "api/nvidia/cuda.h"
#include "guard/base/table.hpp"
#include "guard/region/layout.hpp"

namespace tessera::guard {

inline constexpr int kLimitsOfContext = 3;  // of CUlimit, from 0 on

struct ContextLimits {
    CUcontext context;
    int gpu;
    std::size_t begun_with[kLimitsOfContext];
    AllocationUnits counted[kLimitsOfContext];
};

inline std::uint64_t key_of(const ContextLimits& limits) {
    return reinterpret_cast<std::uint64_t>(limits.context);
}

// Sets the limit of the current context with `set`, and charges what the driver may take for it.
// CUDA_ERROR_OUT_OF_MEMORY if the container's limit does not allow that.
// CUDA_ERROR_UNSUPPORTED_LIMIT if the limit is raised and its cost is unknown.
template <typename Set>
CUresult set_limit(CUlimit limit, std::size_t value, const Set& set);

// Releases what was charged for a context that has ended.
void release_limits_of(CUcontext context);
// They belong to another context from now on.
void pass_on_limits_of(CUcontext from, CUcontext to);

// For set_limit() alone: reserves what the limit may take more, in allocation units, and releases
// it again.
CUresult reserve_for_limit(CUlimit limit, std::size_t value, CUcontext& context,
                           AllocationUnits& more);
void release_limit(CUlimit limit, CUcontext context, AllocationUnits more);

template <typename Set>
CUresult set_limit(CUlimit limit, std::size_t value, const Set& set) {
    CUcontext context = nullptr;
    AllocationUnits more = 0;
    if (const CUresult over = reserve_for_limit(limit, value, context, more); over != CUDA_SUCCESS)
        return over;
    const CUresult result = set();
    if (result != CUDA_SUCCESS) release_limit(limit, context, more);
    return result;
}

}  // namespace tessera::guard
