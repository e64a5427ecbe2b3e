// Goal: managed memory takes of the GPU what the device uses of it, and may be more than the GPU
// has.
#include <cstring>

#include "gpusim/test_support/cuda_test.hpp"

namespace gpusim {
namespace {

class CudaManagedMemory : public CudaTest {};

TEST_F(CudaManagedMemory, MovesToTheGpuWhenTheDeviceUsesIt) {
    with_context([this](const Library& cuda) {
        CUdeviceptr pointer = 0;
        const auto alloc = CALL(cuda, cuMemAllocManaged);
        ASSERT_EQ(alloc(&pointer, 10 * kMiB, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U);
        std::memset(as_pointer(pointer), 1, 10 * kMiB);
        EXPECT_EQ(node_.used(0), 0U) << "use by the host takes nothing of the device";
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(pointer + 3 * kMiB, 2, 2 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 4 * kMiB) << "the allocation units at 2 and 4 MiB";
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(pointer + 3 * kMiB, 2, 2 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 4 * kMiB);
        EXPECT_EQ(CALL(cuda, cuMemFree_v2)(pointer), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U);
    });
}

TEST_F(CudaManagedMemory, MayBeMoreThanTheGpuHas) {
    with_context([this](const Library& cuda) {
        CUdeviceptr plain = 0;
        CUdeviceptr managed = 0;
        ASSERT_EQ(CALL(cuda, cuMemAlloc_v2)(&plain, kGiB - 4 * kMiB), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuMemAllocManaged)(&managed, 4 * kGiB, CU_MEM_ATTACH_HOST),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(managed, 1, 16 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), kGiB);
    });
    EXPECT_EQ(node_.used(0), 0U);
}

TEST_F(CudaManagedMemory, WantsOneWayToAttach) {
    with_context([](const Library& cuda) {
        CUdeviceptr pointer = 0;
        const auto alloc = CALL(cuda, cuMemAllocManaged);
        EXPECT_EQ(alloc(&pointer, kMiB, 0), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(alloc(&pointer, kMiB, CU_MEM_ATTACH_SINGLE), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(alloc(&pointer, kMiB, 3), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(alloc(&pointer, 0, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(alloc(nullptr, 1, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
        int is_supported = 0;
        EXPECT_EQ(
            CALL(cuda, cuDeviceGetAttribute)(&is_supported, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 0),
            CUDA_SUCCESS);
        EXPECT_EQ(is_supported, 1);
    });
}

}  // namespace
}  // namespace gpusim
