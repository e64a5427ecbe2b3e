// Goal: contexts and memory of one process behave as documented, and a GPU never gives more than it
// has. Method: libcuda.so.1 by symbol name, each case in a process of its own.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "gpusim/test_support/cuda_test.hpp"

namespace gpusim {
namespace {

class CudaMemory : public CudaTest {};

TEST_F(CudaMemory, RefusesWhatTheGpuDoesNotHave) {
    with_context([this](const Library& cuda) {
        const auto alloc = CALL(cuda, cuMemAlloc_v2);
        CUdeviceptr big = 0;
        CUdeviceptr more = 0;
        size_t free_bytes = 0;
        size_t total = 0;
        EXPECT_EQ(alloc(&big, kGiB + 1), CUDA_ERROR_OUT_OF_MEMORY)
            << "the reserve is not available to programs";
        EXPECT_EQ(alloc(&big, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
        ASSERT_EQ(alloc(&big, kGiB), CUDA_SUCCESS);
        EXPECT_EQ(alloc(&more, 1), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(CALL(cuda, cuMemGetInfo_v2)(&free_bytes, &total), CUDA_SUCCESS);
        EXPECT_EQ(free_bytes, 0U);
        EXPECT_EQ(total, kGiB);
        EXPECT_EQ(CALL(cuda, cuMemFree_v2)(big), CUDA_SUCCESS);
        EXPECT_EQ(alloc(&more, 1), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 2 * kMiB) << "one allocation unit";
    });
    EXPECT_EQ(node_.used(0), 0U);
}

TEST_F(CudaMemory, NothingIsNotFreed) {
    with_context([](const Library& cuda) {
        EXPECT_EQ(CALL(cuda, cuMemFree_v2)(0), CUDA_ERROR_INVALID_VALUE);
    });
}

TEST_F(CudaMemory, CopiesWithinBounds) {
    with_context([](const Library& cuda) {
        CUdeviceptr a = 0;
        CUdeviceptr b = 0;
        ASSERT_EQ(CALL(cuda, cuMemAlloc_v2)(&a, 1000), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuMemAlloc_v2)(&b, 1000), CUDA_SUCCESS);
        char out[1000] = {};
        EXPECT_EQ(CALL(cuda, cuMemcpyHtoD_v2)(a, out, 1001), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemcpyHtoD_v2)(a + 999, out, 2), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemcpyDtoH_v2)(out, b + 2000, 1), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(a, 0, 1001), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(0, 0, 1), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemcpyDtoH_v2)(out, 0, 1), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemcpyDtoH_v2)(out, 0, 0), CUDA_SUCCESS);
    });
}

TEST_F(CudaMemory, ContextsCostTheirOverhead) {
    with_cuda([this](const Library& cuda) {
        CUcontext contexts[4] = {};
        for (int i = 0; i < 3; i++) {
            ASSERT_EQ(CALL(cuda, cuCtxCreate_v2)(&contexts[i], 0, 1), CUDA_SUCCESS);
        }
        EXPECT_EQ(node_.used(1), 900 * kMiB);
        EXPECT_EQ(CALL(cuda, cuCtxCreate_v2)(&contexts[3], 0, 1), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(CALL(cuda, cuCtxDestroy_v2)(contexts[0]), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(1), 600 * kMiB);
        EXPECT_EQ(CALL(cuda, cuCtxDestroy_v2)(contexts[0]), CUDA_ERROR_INVALID_CONTEXT);
    });
}

TEST_F(CudaMemory, DestroyFreesAndStacksWork) {
    with_cuda([this](const Library& cuda) {
        CUcontext first = nullptr;
        CUcontext second = nullptr;
        CUcontext current = nullptr;
        CUdevice device = -1;
        CUdeviceptr pointer = 0;
        ASSERT_EQ(CALL(cuda, cuCtxCreate_v3)(&first, nullptr, 0, 0, 0), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuCtxCreate_v4)(&second, nullptr, 0, 1), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxGetDevice)(&device), CUDA_SUCCESS);
        EXPECT_EQ(device, 1);
        EXPECT_EQ(CALL(cuda, cuCtxPopCurrent_v2)(&current), CUDA_SUCCESS);
        EXPECT_EQ(current, second);
        EXPECT_EQ(CALL(cuda, cuMemAlloc_v2)(&pointer, 64 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 64 * kMiB);
        EXPECT_EQ(CALL(cuda, cuCtxPushCurrent_v2)(second), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxDestroy_v2)(first), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U);
        EXPECT_EQ(CALL(cuda, cuMemFree_v2)(pointer), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuCtxSetCurrent)(nullptr), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemAlloc_v2)(&pointer, 1), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        EXPECT_EQ(CALL(cuda, cuCtxSetCurrent)(first), CUDA_ERROR_INVALID_CONTEXT);
        EXPECT_EQ(CALL(cuda, cuCtxSetCurrent)(second), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxSynchronize)(), CUDA_SUCCESS);
        CUexecAffinityParam affinity = {};
        EXPECT_EQ(CALL(cuda, cuCtxCreate_v3)(&first, &affinity, 1, 0, 0),
                  CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
        EXPECT_EQ(CALL(cuda, cuCtxCreate_v2)(&first, 0x1000, 0), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuCtxCreate_v2)(&first, 0, 5), CUDA_ERROR_INVALID_DEVICE);
    });
}

TEST_F(CudaMemory, PrimaryContextCostsOnceAndIsReset) {
    with_cuda([this](const Library& cuda) {
        CUcontext a = nullptr;
        CUcontext b = nullptr;
        const auto release = CALL(cuda, cuDevicePrimaryCtxRelease_v2);
        ASSERT_EQ(CALL(cuda, cuDevicePrimaryCtxRetain)(&a, 1), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuDevicePrimaryCtxRetain)(&b, 1), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(1), 300 * kMiB) << "one context, retained twice";
        EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxSetFlags)(1, 0), CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE);
        EXPECT_EQ(release(1), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(1), 300 * kMiB);
        CUdeviceptr pointer = 0;
        EXPECT_EQ(CALL(cuda, cuCtxSetCurrent)(a), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemAlloc_v2)(&pointer, kMiB), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxReset_v2)(1), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(1), 0U);
        EXPECT_EQ(CALL(cuda, cuMemAlloc_v2)(&pointer, kMiB), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        EXPECT_EQ(release(1), CUDA_SUCCESS) << "a reset does not release";
        EXPECT_EQ(release(1), CUDA_ERROR_INVALID_CONTEXT);
    });
}

TEST_F(CudaMemory, ManyThreadsShareOneGpu) {
    with_cuda([this](const Library& cuda) {
        constexpr int kThreads = 8;
        constexpr int kRounds = 100;
        CUcontext context = nullptr;
        ASSERT_EQ(CALL(cuda, cuDevicePrimaryCtxRetain)(&context, 0), CUDA_SUCCESS);
        std::atomic<int> granted = 0;
        std::atomic<int> wrong = 0;
        std::vector<std::thread> threads;
        threads.reserve(kThreads);
        for (int t = 0; t < kThreads; t++) {
            threads.emplace_back([&] {
                wrong += CALL(cuda, cuCtxSetCurrent)(context) != CUDA_SUCCESS;
                for (int i = 0; i < kRounds; i++) {
                    CUdeviceptr pointer = 0;
                    const CUresult result = CALL(cuda, cuMemAlloc_v2)(&pointer, 200 * kMiB);
                    if (result == CUDA_ERROR_OUT_OF_MEMORY) continue;
                    const int held = granted.fetch_add(1) + 1;
                    wrong += result != CUDA_SUCCESS || held > 5;  // 5 x 200 MiB fit in 1 GiB
                    granted.fetch_sub(1);
                    wrong += CALL(cuda, cuMemFree_v2)(pointer) != CUDA_SUCCESS;
                }
            });
        }
        for (std::thread& thread : threads)
            thread.join();
        EXPECT_EQ(wrong.load(), 0);
        EXPECT_EQ(node_.used(0), 0U);
    });
}

}  // namespace
}  // namespace gpusim
