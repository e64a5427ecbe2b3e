// Goal: the device can use page-locked and registered host memory, and it takes nothing of the GPU.
#include <sys/mman.h>

#include <cstring>

#include "gpusim/test_support/cuda_test.hpp"

namespace gpusim {
namespace {

class CudaHostMemory : public CudaTest {};

TEST_F(CudaHostMemory, IsAddressedByTheDevice) {
    with_context([this](const Library& cuda) {
        void* host = nullptr;
        CUdeviceptr device = 0;
        unsigned flags = 0;
        const unsigned wanted = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_WRITECOMBINED;
        ASSERT_EQ(CALL(cuda, cuMemHostAlloc)(&host, 8 * kMiB, wanted), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U);
        EXPECT_EQ(CALL(cuda, cuMemHostGetDevicePointer_v2)(&device, host, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(device, 'x', 8 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(static_cast<char*>(host)[8 * kMiB - 1], 'x');
        EXPECT_EQ(CALL(cuda, cuMemHostGetFlags)(&flags, host), CUDA_SUCCESS);
        EXPECT_EQ(flags, wanted);
        EXPECT_EQ(CALL(cuda, cuMemFree_v2)(device), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemFreeHost)(host), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemFreeHost)(host), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemHostGetDevicePointer_v2)(&device, host, 0),
                  CUDA_ERROR_INVALID_VALUE);

        ASSERT_EQ(CALL(cuda, cuMemAllocHost_v2)(&host, 5), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemHostGetFlags)(&flags, host), CUDA_SUCCESS);
        EXPECT_EQ(flags, 0U);
        EXPECT_EQ(CALL(cuda, cuMemFreeHost)(host), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuMemAllocHost)(&host, 5), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemFreeHost)(host), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemHostAlloc)(&host, 0, 0), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemHostAlloc)(&host, 1, 8), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemHostAlloc)(nullptr, 1, 0), CUDA_ERROR_INVALID_VALUE);
    });
}

TEST_F(CudaHostMemory, IsRegisteredWhole) {
    with_context([this](const Library& cuda) {
        std::vector<char> mine(10000);
        CUdeviceptr device = 0;
        unsigned flags = 0;
        const auto enter = CALL(cuda, cuMemHostRegister_v2);
        const auto leave = CALL(cuda, cuMemHostUnregister);
        ASSERT_EQ(enter(mine.data(), mine.size(), CU_MEMHOSTREGISTER_DEVICEMAP), CUDA_SUCCESS);
        EXPECT_EQ(enter(mine.data() + 9999, 1, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
        EXPECT_EQ(CALL(cuda, cuMemHostGetDevicePointer_v2)(&device, mine.data(), 0), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U);
        EXPECT_EQ(CALL(cuda, cuMemHostGetFlags)(&flags, mine.data()), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemFreeHost)(mine.data()), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(leave(mine.data() + 1), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
        EXPECT_EQ(leave(mine.data()), CUDA_SUCCESS);

        ASSERT_EQ(enter(mine.data(), mine.size(), CU_MEMHOSTREGISTER_READ_ONLY), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(device, 'z', 1), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(enter(mine.data(), 1, CU_MEMHOSTREGISTER_IOMEMORY), CUDA_ERROR_NOT_SUPPORTED);
        EXPECT_EQ(enter(mine.data(), 1, 64), CUDA_ERROR_INVALID_VALUE);
        void* hole = mmap(nullptr, kMiB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        munmap(hole, kMiB);
        EXPECT_EQ(enter(hole, kMiB, 0), CUDA_ERROR_INVALID_VALUE) << "there is nothing";
    });
}

TEST_F(CudaHostMemory, GoesWithItsContext) {
    with_cuda([](const Library& cuda) {
        CUcontext context = nullptr;
        void* host = nullptr;
        std::vector<char> mine(100);
        EXPECT_EQ(CALL(cuda, cuMemHostAlloc)(&host, 1, 0), CUDA_ERROR_INVALID_CONTEXT);
        for (int round = 0; round < 2; round++) {
            ASSERT_EQ(CALL(cuda, cuCtxCreate_v2)(&context, 0, 0), CUDA_SUCCESS);
            ASSERT_EQ(CALL(cuda, cuMemHostAlloc)(&host, kMiB, 0), CUDA_SUCCESS);
            ASSERT_EQ(CALL(cuda, cuMemHostRegister_v2)(mine.data(), 100, 0), CUDA_SUCCESS);
            ASSERT_EQ(CALL(cuda, cuCtxDestroy_v2)(context), CUDA_SUCCESS);
        }
        ASSERT_EQ(CALL(cuda, cuCtxCreate_v2)(&context, 0, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemFreeHost)(host), CUDA_ERROR_INVALID_VALUE);
    });
}

}  // namespace
}  // namespace gpusim
