// Goal: contexts, their stacks and the primary one are as documented.
#include "gpusim/test_support/conformance.hpp"

namespace gpusim {
namespace {

class ConformingContexts : public Conformance {};

TEST_F(ConformingContexts, AreWanted) {
    with_cuda([](const Library& cuda) {
        CUdeviceptr pointer = 0;
        size_t free_bytes = 0;
        size_t total = 0;
        CUdevice device = 0;
        CUcontext context = nullptr;
        EXPECT_EQ(CALL(cuda, cuMemAlloc_v2)(&pointer, 1), CUDA_ERROR_INVALID_CONTEXT);
        EXPECT_EQ(CALL(cuda, cuMemGetInfo_v2)(&free_bytes, &total), CUDA_ERROR_INVALID_CONTEXT);
        EXPECT_EQ(CALL(cuda, cuCtxGetDevice)(&device), CUDA_ERROR_INVALID_CONTEXT);
        EXPECT_EQ(CALL(cuda, cuCtxSynchronize)(), CUDA_ERROR_INVALID_CONTEXT);
        EXPECT_EQ(CALL(cuda, cuCtxPopCurrent_v2)(&context), CUDA_ERROR_INVALID_CONTEXT);
        EXPECT_EQ(CALL(cuda, cuCtxGetCurrent)(&context), CUDA_SUCCESS);
        EXPECT_EQ(context, nullptr);
    });
}

TEST_F(ConformingContexts, AreAStack) {
    with_cuda([](const Library& cuda) {
        CUcontext first = nullptr;
        CUcontext second = nullptr;
        CUcontext current = nullptr;
        CUdevice device = -1;
        ASSERT_EQ(CALL(cuda, cuCtxCreate_v2)(&first, 0, 0), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuCtxCreate_v2)(&second, 0, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxGetDevice)(&device), CUDA_SUCCESS);
        EXPECT_EQ(device, 0);
        EXPECT_EQ(CALL(cuda, cuCtxPopCurrent_v2)(&current), CUDA_SUCCESS);
        EXPECT_EQ(current, second);
        EXPECT_EQ(CALL(cuda, cuCtxGetCurrent)(&current), CUDA_SUCCESS);
        EXPECT_EQ(current, first);
        EXPECT_EQ(CALL(cuda, cuCtxPushCurrent_v2)(second), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxDestroy_v2)(first), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxSetCurrent)(second), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxSynchronize)(), CUDA_SUCCESS);
        int count = 0;
        EXPECT_EQ(CALL(cuda, cuDeviceGetCount)(&count), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxCreate_v2)(&first, 0, count), CUDA_ERROR_INVALID_DEVICE);
        EXPECT_EQ(CALL(cuda, cuCtxCreate_v2)(&first, 0x1000, 0), CUDA_ERROR_INVALID_VALUE);
    });
}

TEST_F(ConformingContexts, OfCuda2AreTheSame) {
    with_cuda([](const Library& cuda) {
        CUcontext context = nullptr;
        CUcontext current = nullptr;
        ASSERT_EQ(CALL(cuda, cuCtxCreate)(&context, 0, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxGetCurrent)(&current), CUDA_SUCCESS);
        EXPECT_EQ(current, context);
        EXPECT_EQ(CALL(cuda, cuCtxPopCurrent)(&current), CUDA_SUCCESS);
        EXPECT_EQ(current, context);
        EXPECT_EQ(CALL(cuda, cuCtxPushCurrent)(context), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxSynchronize)(), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxDestroy)(context), CUDA_SUCCESS);
    });
}

TEST_F(ConformingContexts, GiveBackWhatWasAllocatedInThem) {
    with_context([](const Library& cuda) {
        CUcontext own = nullptr;
        CUcontext other = nullptr;
        CUdeviceptr pointer = 0;
        ASSERT_EQ(CALL(cuda, cuCtxGetCurrent)(&own), CUDA_SUCCESS);
        const std::uint64_t before = taken(cuda);
        ASSERT_EQ(CALL(cuda, cuCtxCreate_v2)(&other, 0, 0), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuMemAlloc_v2)(&pointer, 256 * kMiB), CUDA_SUCCESS);
        EXPECT_GE(taken(cuda), before + 256 * kMiB);
        EXPECT_EQ(CALL(cuda, cuCtxDestroy_v2)(other), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxSetCurrent)(own), CUDA_SUCCESS);
        EXPECT_LT(taken(cuda), before + 128 * kMiB);
    });
}

TEST_F(ConformingContexts, ThePrimaryOneIsCounted) {
    with_cuda([](const Library& cuda) {
        CUcontext a = nullptr;
        CUcontext b = nullptr;
        unsigned flags = 7;
        int active = 7;
        const auto state = CALL(cuda, cuDevicePrimaryCtxGetState);
        const auto release = CALL(cuda, cuDevicePrimaryCtxRelease_v2);
        EXPECT_EQ(state(0, &flags, &active), CUDA_SUCCESS);
        EXPECT_EQ(active, 0);
        EXPECT_EQ(release(0), CUDA_ERROR_INVALID_CONTEXT);
        EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxSetFlags_v2)(0, CU_CTX_SCHED_YIELD), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuDevicePrimaryCtxRetain)(&a, 0), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuDevicePrimaryCtxRetain)(&b, 0), CUDA_SUCCESS);
        EXPECT_EQ(a, b);
        EXPECT_EQ(state(0, &flags, &active), CUDA_SUCCESS);
        EXPECT_EQ(active, 1);
        EXPECT_EQ(flags & CU_CTX_SCHED_MASK, unsigned{CU_CTX_SCHED_YIELD});
        EXPECT_EQ(release(0), CUDA_SUCCESS);
        EXPECT_EQ(state(0, &flags, &active), CUDA_SUCCESS);
        EXPECT_EQ(active, 1) << "retained once still";
        EXPECT_EQ(release(0), CUDA_SUCCESS);
        EXPECT_EQ(state(0, &flags, &active), CUDA_SUCCESS);
        EXPECT_EQ(active, 0);
        EXPECT_EQ(release(0), CUDA_ERROR_INVALID_CONTEXT);
    });
}

}  // namespace
}  // namespace gpusim
