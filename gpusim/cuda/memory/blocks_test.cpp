// Goal: small allocations share allocation units, as on a real GPU, and no allocation unit outlives
// them.
#include "gpusim/test_support/cuda_test.hpp"

namespace gpusim {
namespace {

class CudaBlocks : public CudaTest {};

TEST_F(CudaBlocks, ThousandSmallOnesCostOneAllocationUnit) {
    with_context([this](const Library& cuda) {
        std::vector<CUdeviceptr> pointers(1000);
        for (CUdeviceptr& pointer : pointers) {
            ASSERT_EQ(CALL(cuda, cuMemAlloc_v2)(&pointer, 1024), CUDA_SUCCESS);
            EXPECT_EQ(pointer % 256, 0U) << "aligned for any type";
        }
        EXPECT_EQ(node_.used(0), 2 * kMiB);
        std::vector<CUdeviceptr> sorted = pointers;
        std::sort(sorted.begin(), sorted.end());
        for (std::size_t i = 1; i < sorted.size(); i++)
            EXPECT_GE(sorted[i] - sorted[i - 1], 1024U);
        for (const CUdeviceptr pointer : pointers) {
            EXPECT_EQ(node_.used(0), 2 * kMiB);
            EXPECT_EQ(CALL(cuda, cuMemFree_v2)(pointer), CUDA_SUCCESS);
        }
        EXPECT_EQ(node_.used(0), 0U);
    });
}

TEST_F(CudaBlocks, FreedRoomIsUsedAgain) {
    with_context([this](const Library& cuda) {
        const auto alloc = CALL(cuda, cuMemAlloc_v2);
        CUdeviceptr parts[4] = {};
        for (CUdeviceptr& part : parts)
            ASSERT_EQ(alloc(&part, 512 * kMiB / 1024), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 2 * kMiB) << "four halves of a MiB fill it";
        CUdeviceptr more = 0;
        ASSERT_EQ(alloc(&more, 1), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 4 * kMiB);
        EXPECT_EQ(CALL(cuda, cuMemFree_v2)(more), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 2 * kMiB);
        EXPECT_EQ(CALL(cuda, cuMemFree_v2)(parts[2]), CUDA_SUCCESS);
        ASSERT_EQ(alloc(&more, 1), CUDA_SUCCESS);
        EXPECT_EQ(more, parts[2]) << "first fit";
        EXPECT_EQ(node_.used(0), 2 * kMiB);
    });
    EXPECT_EQ(node_.used(0), 0U);
}

TEST_F(CudaBlocks, ContextsDoNotShareAllocationUnits) {
    with_context([this](const Library& cuda) {
        CUdeviceptr first = 0;
        CUdeviceptr second = 0;
        CUcontext other = nullptr;
        ASSERT_EQ(CALL(cuda, cuMemAlloc_v2)(&first, 1), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuCtxCreate_v2)(&other, 0, 0), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuMemAlloc_v2)(&second, 1), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 4 * kMiB);
        EXPECT_EQ(CALL(cuda, cuCtxDestroy_v2)(other), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 2 * kMiB);
        EXPECT_EQ(CALL(cuda, cuMemFree_v2)(first), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U);
    });
}

TEST_F(CudaBlocks, OneGoesIntoAFullGpuWithRoomInAnAllocationUnit) {
    with_context([](const Library& cuda) {
        const auto alloc = CALL(cuda, cuMemAlloc_v2);
        CUdeviceptr small = 0;
        CUdeviceptr rest = 0;
        CUdeviceptr more = 0;
        ASSERT_EQ(alloc(&small, 1000), CUDA_SUCCESS);
        ASSERT_EQ(alloc(&rest, kGiB - 2 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(alloc(&more, kMiB), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(alloc(&more, kMiB - 1), CUDA_SUCCESS);
    });
}

}  // namespace
}  // namespace gpusim
