// The entry points of CUDA 2, with pointers and sizes of 32 bits. libcuda still exports them on
// 64-bit machines. What they answer there is a guess: memory below 4 GiB while there is some, and
// the largest number for numbers that do not fit.
#include <climits>

#include "gpusim/cuda/memory/device_memory.hpp"
#include "gpusim/cuda/work/capture.hpp"

using gpusim::Context;
using gpusim::DeviceRange;
using gpusim::Session;

namespace {

unsigned cut(std::size_t number) {
    return number < UINT_MAX ? static_cast<unsigned>(number) : UINT_MAX;
}

CUresult allocate_low(CUdeviceptr_v1* pointer, std::size_t bytes) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Context* context = nullptr;
    if (const CUresult error = gpusim::current_context(&context); error != CUDA_SUCCESS) {
        return error;
    }
    if (pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult error = gpusim::check_unsafe_call(); error != CUDA_SUCCESS) return error;
    DeviceRange* range = nullptr;
    const CUresult error =
        gpusim::allocate(*context, {.bytes = bytes, .reach = gpusim::Reach::low}, &range);
    if (error == CUDA_SUCCESS) *pointer = static_cast<CUdeviceptr_v1>(range->base);
    return error;
}

}  // namespace

CUresult cuDeviceTotalMem(unsigned int* bytes, CUdevice device) {
    if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::size_t all = 0;
    const CUresult error = cuDeviceTotalMem_v2(&all, device);
    if (error == CUDA_SUCCESS) *bytes = cut(all);
    return error;
}

CUresult cuMemGetInfo(unsigned int* free_bytes, unsigned int* total_bytes) {
    std::size_t free = 0;
    std::size_t total = 0;
    const CUresult error = cuMemGetInfo_v2(&free, &total);
    if (error != CUDA_SUCCESS) return error;
    if (free_bytes != nullptr) *free_bytes = cut(free);
    if (total_bytes != nullptr) *total_bytes = cut(total);
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr_v1* pointer, unsigned int bytes) {
    return allocate_low(pointer, bytes);
}

CUresult cuMemAllocPitch(CUdeviceptr_v1* pointer, unsigned int* pitch, unsigned int width_bytes,
                         unsigned int height, unsigned int element_bytes) {
    if (pitch == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::size_t row = 0;
    std::size_t bytes = 0;
    const CUresult shape = gpusim::pitched(
        {.width = width_bytes, .height = height, .element = element_bytes}, &row, &bytes);
    if (shape != CUDA_SUCCESS) return shape;
    const CUresult error = allocate_low(pointer, bytes);
    if (error == CUDA_SUCCESS) *pitch = cut(row);
    return error;
}

CUresult cuMemFree(CUdeviceptr_v1 pointer) {
    return cuMemFree_v2(pointer);
}
