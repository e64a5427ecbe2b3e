// Goal: the last detach ends a context, and green contexts keep their device's primary one. Method:
// what they take of the GPU, which counts 300 MiB for a context.
#include "gpusim/test_support/cuda_test.hpp"

namespace gpusim {
namespace {

constexpr std::uint64_t kContext = 300 * kMiB;
constexpr std::uint64_t kGreen = 38 * kMiB;

class CudaAttachedContexts : public CudaTest {};

TEST_F(CudaAttachedContexts, EndWithTheLast) {
    with_cuda([this](const Library& cuda) {
        CUcontext context = nullptr;
        CUcontext attached = nullptr;
        EXPECT_EQ(CALL(cuda, cuCtxAttach)(&attached, 0), CUDA_ERROR_INVALID_CONTEXT);
        EXPECT_EQ(CALL(cuda, cuCtxCreate_v2)(&context, 0, 1), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxAttach)(&attached, 1), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuCtxAttach)(&attached, 0), CUDA_SUCCESS);
        EXPECT_EQ(attached, context);
        EXPECT_EQ(CALL(cuda, cuCtxDetach)(context), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(1), kContext);
        EXPECT_EQ(CALL(cuda, cuCtxDetach)(context), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(1), 0U);
        EXPECT_EQ(CALL(cuda, cuCtxDetach)(context), CUDA_ERROR_INVALID_CONTEXT);
    });
}

TEST_F(CudaAttachedContexts, GreenOnesKeepThePrimaryOneAndItsMemory) {
    with_cuda([this](const Library& cuda) {
        CUdevResource all = {};
        CUdevResourceDesc description = nullptr;
        CUgreenCtx green = nullptr;
        CUcontext context = nullptr;
        CUcontext primary = nullptr;
        CUdeviceptr pointer = 0;
        EXPECT_EQ(CALL(cuda, cuDeviceGetDevResource)(1, &all, CU_DEV_RESOURCE_TYPE_SM),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuDevResourceGenerateDesc)(&description, &all, 1), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuGreenCtxCreate)(&green, nullptr, 1, CU_GREEN_CTX_DEFAULT_STREAM),
                  CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuGreenCtxCreate)(&green, description, 1, CU_GREEN_CTX_DEFAULT_STREAM),
                  CUDA_SUCCESS);
        EXPECT_EQ(node_.used(1), kContext + kGreen);
        EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxRetain)(&primary, 1), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxFromGreenCtx)(&context, green), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxDestroy_v2)(context), CUDA_ERROR_INVALID_CONTEXT);
        EXPECT_EQ(CALL(cuda, cuCtxSetCurrent)(context), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemAlloc_v2)(&pointer, 100 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuGreenCtxDestroy)(green), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(1), kContext + 100 * kMiB);
        EXPECT_EQ(CALL(cuda, cuGreenCtxDestroy)(green), CUDA_ERROR_INVALID_HANDLE);
        EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxRelease_v2)(1), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(1), 0U);
    });
}

}  // namespace
}  // namespace gpusim
