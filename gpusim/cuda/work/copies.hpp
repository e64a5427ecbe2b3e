// Copies and fills, of any shape, as operations of a stream.
#pragma once

#include "gpusim/cuda/work/work.hpp"

// Calls without a stream use the default one, and return when they are done. (A real memset and a
// copy within the GPU may return before.)
#define IN_DEFAULT_STREAM(name, parameters, call_in)  \
    CUresult name parameters {                        \
        const CUstream stream = CU_STREAM_LEGACY;     \
        return call_in;                               \
    }                                                 \
    CUresult name##_ptds parameters {                 \
        const CUstream stream = CU_STREAM_PER_THREAD; \
        return call_in;                               \
    }

namespace gpusim {

// One end of a copy.
struct End {
    CUdeviceptr pointer;
    Side side;
    bool is_array;  // then it is already checked
    Box::Strides strides;
};

struct Extent {
    std::size_t bytes;  // of a row
    std::size_t rows = 1;
    std::size_t slices = 1;
};

CUresult copy(const End& to, const End& from, const Extent& extent, CUstream stream, bool waits);

struct Fill {
    CUdeviceptr to;
    std::size_t pitch = 0;
    std::uint32_t value;
    std::size_t value_bytes;
};

// `extent` is in values.
CUresult fill(const Fill& fill, const Extent& extent, CUstream stream, bool waits);

// Where an array's rows are.
struct ArrayContent {
    CUdeviceptr base;
    Box::Strides strides;
    Extent extent;
};

// CUDA_ERROR_INVALID_HANDLE for an invalid handle, CUDA_ERROR_NOT_SUPPORTED for a level of a
// mipmap, CUDA_ERROR_INVALID_VALUE for an array that is not mapped. Requires a Session.
CUresult find_content(CUarray array, ArrayContent* content);

}  // namespace gpusim
