// cuMemAlloc and the calls that free it, cuMemAllocPitch, cuMemGetInfo, cuMemGetAddressRange.
#include "gpusim/cuda/memory/device_memory.hpp"

#include <cstdlib>

#include "gpusim/cuda/driver/accounts.hpp"
#include "gpusim/cuda/pools/pools.hpp"
#include "gpusim/cuda/work/capture.hpp"
#include "gpusim/cuda/work/work.hpp"

using gpusim::Context;
using gpusim::DeviceRange;
using gpusim::Range;
using gpusim::RangeKind;
using gpusim::Session;

namespace {

constexpr std::size_t kPitchAlignment = 512;
constexpr std::size_t kMaxPitch = 2147483647;  // CU_DEVICE_ATTRIBUTE_MAX_PITCH

void give_back(Range* range) {
    auto* mine = static_cast<DeviceRange*>(range);
    gpusim::remove_range(*mine);
    gpusim::give_piece(mine->piece);
    std::free(mine);
}

}  // namespace

namespace gpusim {

CUresult allocate(Context& context, const DeviceRequest& request, DeviceRange** allocated) {
    auto* range = static_cast<DeviceRange*>(std::calloc(1, sizeof(DeviceRange)));
    if (range == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult error =
        take_piece(home_of(context), request.bytes, request.reach, &range->piece);
    if (error != CUDA_SUCCESS) {
        std::free(range);
        return error;
    }
    range->base = range->piece.base;
    range->bytes = request.bytes;
    range->extent = range->piece.extent;
    range->kind = request.kind;
    range->device = context.device;
    range->release = give_back;
    if (!add_range(*range, &context)) {
        give_piece(range->piece);
        std::free(range);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *allocated = range;
    return CUDA_SUCCESS;
}

Range* find_freeable(CUdeviceptr pointer) {
    for (const RangeKind kind : {RangeKind::device, RangeKind::managed, RangeKind::pooled,
                                 RangeKind::graph, RangeKind::external}) {
        if (Range* range = find_range(pointer, kind); range != nullptr) return range;
    }
    return nullptr;
}

CUresult pitched(const Pitched& wanted, std::size_t* row, std::size_t* bytes) {
    const bool is_element = wanted.element == 4 || wanted.element == 8 || wanted.element == 16;
    if (!is_element || wanted.height == 0 || wanted.width == 0 || wanted.width > kMaxPitch) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *row = (wanted.width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
    return __builtin_mul_overflow(*row, wanted.height, bytes) ? CUDA_ERROR_OUT_OF_MEMORY
                                                              : CUDA_SUCCESS;
}

}  // namespace gpusim

// As in the real driver, an argument that the caller does not want may be null.
CUresult cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Context* context = nullptr;
    if (const CUresult error = gpusim::current_context(&context); error != CUDA_SUCCESS) {
        return error;
    }
    const gpusim::MemoryInfo info = gpusim::memory_info(context->gpu);
    if (total_bytes != nullptr) *total_bytes = info.total;
    if (free_bytes != nullptr) *free_bytes = info.free;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Context* context = nullptr;
    if (const CUresult error = gpusim::current_context(&context); error != CUDA_SUCCESS) {
        return error;
    }
    if (pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult error = gpusim::check_unsafe_call(); error != CUDA_SUCCESS) return error;
    DeviceRange* range = nullptr;
    const CUresult error = gpusim::allocate(*context, {.bytes = bytes}, &range);
    if (error == CUDA_SUCCESS) *pointer = range->base;
    return error;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* pointer, size_t* pitch, size_t width_bytes, size_t height,
                            unsigned int element_bytes) {
    if (pitch == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::size_t row = 0;
    std::size_t bytes = 0;
    const CUresult shape = gpusim::pitched(
        {.width = width_bytes, .height = height, .element = element_bytes}, &row, &bytes);
    if (shape != CUDA_SUCCESS) return shape;
    const CUresult error = cuMemAlloc_v2(pointer, bytes);
    if (error == CUDA_SUCCESS) *pitch = row;
    return error;
}

// As in the real driver, this first waits for all work of the context, except for memory from a
// pool.
CUresult cuMemFree_v2(CUdeviceptr pointer) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Context* context = nullptr;
    if (const CUresult error = gpusim::current_context(&context); error != CUDA_SUCCESS) {
        return error;
    }
    Range* range = gpusim::find_freeable(pointer);
    if (range == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (gpusim::is_being_freed(*range)) return CUDA_ERROR_INVALID_VALUE;
    if (range->kind != RangeKind::pooled) {
        gpusim::wait_for(*context);
        range = gpusim::find_freeable(pointer);  // other threads may have had the mutex meanwhile
        if (range == nullptr) return CUDA_ERROR_INVALID_VALUE;
    }
    range->release(range);
    return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr pointer) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    const Range* range = gpusim::find_range(pointer);
    if (range == nullptr || pointer >= range->base + range->bytes) return CUDA_ERROR_NOT_FOUND;
    if (base != nullptr) *base = range->base;
    if (bytes != nullptr) *bytes = range->bytes;
    return CUDA_SUCCESS;
}
