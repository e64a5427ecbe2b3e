// What a context grows by when a program sets its limits higher (cuCtxSetLimit): a driver may take
// the memory at once, or when a kernel first needs it. So what it may take is set aside when the
// limit is set, and counts until the context ends: no driver promises to give any of it back
// before. What the limits begin with is counted with the context (context_cost.hpp).
//
// Source of the sizes: the reference of cuCtxSetLimit (CUDA 12.9) for what is printed and the heap,
// which are in bytes; the stack is of each thread that the card can run at once.
//
// The mutex of contexts guards it. All want begin() to have succeeded.
#pragma once

#include "api/nvidia/cuda.h"
#include "guard/process/table.hpp"
#include "guard/region/layout.hpp"

namespace tessera::guard {

inline constexpr int kLimitsOfContext = 3;  // of CUlimit, from 0 on

struct ContextLimits {
    CUcontext context;
    int card;
    std::size_t begun_with[kLimitsOfContext];
    Granules counted[kLimitsOfContext];
};

inline std::uint64_t key_of(const ContextLimits& limits) {
    return reinterpret_cast<std::uint64_t>(limits.context);
}

// Has the driver set the limit of the current context by `set`, and counts what it may take for it.
// CUDA_ERROR_OUT_OF_MEMORY where there is no room for that; CUDA_ERROR_UNSUPPORTED_LIMIT where it
// is raised, and nobody can say what that takes.
template <typename Set>
CUresult set_limit(CUlimit limit, std::size_t value, const Set& set);

// Puts back what was counted for a context that has ended.
void put_back_limits_of(CUcontext context);
// They are another context's from now on.
void pass_on_limits_of(CUcontext from, CUcontext to);

// For set_limit() alone: how many granules more the limit may take, set aside; put back again.
CUresult set_limit_aside(CUlimit limit, std::size_t value, CUcontext& context, Granules& more);
void put_back_limit(CUlimit limit, CUcontext context, Granules more);

template <typename Set>
CUresult set_limit(CUlimit limit, std::size_t value, const Set& set) {
    CUcontext context = nullptr;
    Granules more = 0;
    if (const CUresult over = set_limit_aside(limit, value, context, more); over != CUDA_SUCCESS)
        return over;
    const CUresult result = set();
    if (result != CUDA_SUCCESS) put_back_limit(limit, context, more);
    return result;
}

}  // namespace tessera::guard
