// The GPU memory of a CUDA array (CUarray, CUmipmappedArray), in bytes; the largest number if it
// overflows. No driver reports it: cuArrayGetMemoryRequirements works only for arrays with deferred
// mapping, which have no memory yet. So it is computed from NVIDIA's block-linear layout, whose
// smallest unit, a GOB, is 64 bytes by 8 rows (Linux, include/uapi/drm/drm_fourcc.h).
// Padding to larger blocks is not counted, so the result may be too small.
#pragma once

#include "api/nvidia/cuda.h"
#include "guard/hooks/memory/pitch.hpp"

namespace tessera::guard {

inline constexpr std::uint64_t kGobRowBytes = 64;
inline constexpr std::uint64_t kGobRows = 8;

// For video and compressed formats, which take less: 4, the most that a channel has.
inline std::uint64_t channel_bytes(CUarray_format format) {
    switch (format) {
        case CU_AD_FORMAT_UNSIGNED_INT8:
        case CU_AD_FORMAT_SIGNED_INT8:
            return 1;
        case CU_AD_FORMAT_UNSIGNED_INT16:
        case CU_AD_FORMAT_SIGNED_INT16:
        case CU_AD_FORMAT_HALF:
            return 2;
        default:
            return 4;
    }
}

// Sparse and deferred arrays have no memory of their own. cuMemMapArrayAsync maps memory of
// cuMemCreate, which is counted there.
inline bool is_mapped_later(const CUDA_ARRAY3D_DESCRIPTOR& array) {
    return (array.Flags & (CUDA_ARRAY3D_DEFERRED_MAPPING | CUDA_ARRAY3D_SPARSE)) != 0;
}

// A height or a depth of 0 means that the array does not have that dimension. The depth of a
// layered array or a cubemap is the number of its layers and faces.
inline std::uint64_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR& array) {
    const std::uint64_t element = channel_bytes(array.Format) * array.NumChannels;
    const std::uint64_t row = rounded_up(product(array.Width, element), kGobRowBytes);
    const std::uint64_t rows = array.Height > 0 ? rounded_up(array.Height, kGobRows) : 1;
    return product(product(row, rows), array.Depth > 0 ? array.Depth : 1);
}

// Of the first `levels` levels, at least one; a level after the one whose sides are all 1 does not
// exist. Each level has half the sides of the level before it, rounded down and at least 1; the
// number of layers stays the same.
inline std::uint64_t mipmap_bytes(const CUDA_ARRAY3D_DESCRIPTOR& whole, unsigned levels) {
    const bool has_layers = (whole.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
    const auto halve = [](std::size_t& side) {
        if (side > 1) side /= 2;
    };
    CUDA_ARRAY3D_DESCRIPTOR level = whole;
    std::uint64_t bytes = 0;
    for (unsigned done = 0; done < levels || done == 0; done++) {
        if (__builtin_add_overflow(bytes, array_bytes(level), &bytes)) return ~std::uint64_t{0};
        const bool is_last =
            level.Width <= 1 && level.Height <= 1 && (has_layers || level.Depth <= 1);
        if (is_last) break;
        halve(level.Width);
        halve(level.Height);
        if (!has_layers) halve(level.Depth);
    }
    return bytes;
}

}  // namespace tessera::guard
