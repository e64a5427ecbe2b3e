// Goal: pitched memory and the entry points of CUDA 2 behave as documented, and the allocation that
// `gpusimctl fault` selects fails.
#include "gpusim/test_support/cuda_program.hpp"
#include "gpusim/test_support/cuda_test.hpp"

namespace gpusim {
namespace {

class CudaDeviceMemory : public CudaTest {};

TEST_F(CudaDeviceMemory, PitchHoldsARowAndIsAligned) {
    with_context([this](const Library& cuda) {
        const auto alloc = CALL(cuda, cuMemAllocPitch_v2);
        CUdeviceptr pointer = 0;
        CUdeviceptr base = 0;
        size_t pitch = 0;
        size_t bytes = 0;
        ASSERT_EQ(alloc(&pointer, &pitch, 1000, 4096, 4), CUDA_SUCCESS);
        EXPECT_GE(pitch, 1000U);
        EXPECT_EQ(pitch % 512, 0U);
        EXPECT_EQ(node_.used(0), 4 * kMiB);
        EXPECT_EQ(CALL(cuda, cuMemGetAddressRange_v2)(&base, &bytes, pointer), CUDA_SUCCESS);
        EXPECT_EQ(bytes, pitch * 4096);
        EXPECT_EQ(CALL(cuda, cuMemFree_v2)(pointer), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U);

        EXPECT_EQ(alloc(&pointer, &pitch, 1000, 4, 3), CUDA_ERROR_INVALID_VALUE) << "4, 8 or 16";
        EXPECT_EQ(alloc(&pointer, &pitch, 0, 4, 4), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(alloc(&pointer, &pitch, 4, 0, 4), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(alloc(&pointer, nullptr, 4, 4, 4), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(alloc(&pointer, &pitch, SIZE_MAX, 4, 4), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(alloc(&pointer, &pitch, 1 << 20, SIZE_MAX, 4), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(alloc(&pointer, &pitch, 1 << 20, 1025, 4), CUDA_ERROR_OUT_OF_MEMORY);
    });
}

TEST_F(CudaDeviceMemory, FirstVersionsHave32Bits) {
    with_context([this](const Library& cuda) {
        CUdeviceptr_v1 pointer = 0;
        CUdeviceptr_v1 pitched = 0;
        unsigned pitch = 0;
        unsigned free_bytes = 0;
        unsigned total = 0;
        ASSERT_EQ(CALL(cuda, cuMemAlloc)(&pointer, 3 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 4 * kMiB);
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(pointer, 1, 3 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemGetInfo)(&free_bytes, &total), CUDA_SUCCESS);
        EXPECT_EQ(total, kGiB);
        EXPECT_EQ(free_bytes, kGiB - 4 * kMiB);
        ASSERT_EQ(CALL(cuda, cuMemAllocPitch)(&pitched, &pitch, 100, 2048, 4), CUDA_SUCCESS);
        EXPECT_EQ(pitch, 512U);
        EXPECT_EQ(CALL(cuda, cuMemFree)(pitched), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemFree)(pointer), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemFree)(pointer), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemAlloc)(&pointer, 0), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemAlloc)(&pointer, 0xffffffff), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(CALL(cuda, cuDeviceTotalMem)(&total, 0), CUDA_SUCCESS);
        EXPECT_EQ(total, kGiB);
        EXPECT_EQ(CALL(cuda, cuDeviceTotalMem)(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
    });
}

TEST(CudaBigGpu, FirstVersionsSayWhatFits) {
    const SimulatedNode node(kTwoGpus);
    in_child([&] {
        const CudaProgram tenant(node.library("libcuda.so.1"));
        unsigned free_bytes = 0;
        unsigned total = 0;
        EXPECT_EQ(CALL(tenant.cuda, cuMemGetInfo)(&free_bytes, &total), CUDA_SUCCESS);
        EXPECT_EQ(free_bytes, 0xffffffff);
        EXPECT_EQ(total, 0xffffffff);
    });
}

TEST_F(CudaDeviceMemory, OrderedFailureComesOnceToWhoeverIsNext) {
    ASSERT_EQ(node_.control("fault 0 allocation 3"), 0);
    in_child([this] {
        CudaProgram tenant(library());
        EXPECT_EQ(tenant.allocate(kMiB), CUDA_SUCCESS);
        EXPECT_EQ(tenant.allocate(2 * kGiB), CUDA_ERROR_OUT_OF_MEMORY) << "there is no room for it";
    });
    in_child([this] {
        CudaProgram tenant(library());
        EXPECT_EQ(tenant.allocate(kMiB), CUDA_SUCCESS);
        EXPECT_EQ(tenant.allocate(kMiB), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(tenant.allocate(kMiB), CUDA_SUCCESS);
        EXPECT_EQ(tenant.allocate(kMiB), CUDA_SUCCESS);
    });
    ASSERT_EQ(node_.control("fault 0 allocation 1"), 0);
    ASSERT_EQ(node_.control("recover 0"), 0);
    in_child([this] {
        CudaProgram tenant(library());
        EXPECT_EQ(tenant.allocate(kMiB), CUDA_SUCCESS);
    });
    EXPECT_NE(node_.control("fault 0 allocation none 2>/dev/null"), 0);
    EXPECT_NE(node_.control("fault 0 toaster 1 2>/dev/null"), 0);
}

}  // namespace
}  // namespace gpusim
