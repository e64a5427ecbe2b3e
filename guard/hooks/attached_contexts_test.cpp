// Goal: a context releases what it took, whichever call ends it, including cuCtxDetach of CUDA 2.
// Green contexts and the primary contexts that they create are charged. Method: the facade in front
// of the simulated driver, whose own count is compared.
#include "guard/test_support/held_memory.hpp"

namespace tessera::guard {
namespace {

using gpusim::in_child;
using gpusim::kGiB;
using gpusim::kMiB;
using gpusim::Library;

class GuardAttachedContexts : public HeldMemory {
  protected:
    // Runs `body` in a process of the container that has also loaded the driver's NVML.
    template <typename Body>
    void with_cuda(Body body) const {
        in_child([&] {
            const Library nvml(node_.library("libnvidia-ml.so.1"));
            const Library cuda(container_.facade());
            EXPECT_EQ(CALL(cuda, cuInit)(0), CUDA_SUCCESS);
            body(cuda);
        });
    }
    static CUcontext create(const Library& cuda) {
        CUcontext context = nullptr;
        EXPECT_EQ(CALL(cuda, cuCtxCreate_v2)(&context, 0, 0), CUDA_SUCCESS);
        return context;
    }
    static CUdeviceptr take(const Library& cuda, std::uint64_t bytes) {
        CUdeviceptr pointer = 0;
        EXPECT_EQ(CALL(cuda, cuMemAlloc_v2)(&pointer, bytes), CUDA_SUCCESS);
        return pointer;
    }
};

// PyCUDA ends its contexts this way. The share cannot hold ten of them at once.
TEST_F(GuardAttachedContexts, EndWhenTheyAreDetached) {
    with_cuda([this](const Library& cuda) {
        for (int i = 0; i < 20; i++) {
            const CUcontext context = create(cuda);
            take(cuda, 10 * kMiB);
            expect_held(kContext + 10 * kMiB);
            EXPECT_EQ(CALL(cuda, cuCtxDetach)(context), CUDA_SUCCESS);
            expect_held(0);
        }
    });
}

TEST_F(GuardAttachedContexts, EndWithTheLastThatIsAttached) {
    with_cuda([this](const Library& cuda) {
        const CUcontext context = create(cuda);
        CUcontext attached = nullptr;
        for (int i = 0; i < 2; i++)
            EXPECT_EQ(CALL(cuda, cuCtxAttach)(&attached, 0), CUDA_SUCCESS);
        EXPECT_EQ(attached, context);
        for (int i = 0; i < 2; i++) {
            EXPECT_EQ(CALL(cuda, cuCtxDetach)(context), CUDA_SUCCESS);
            expect_held(kContext);
        }
        EXPECT_EQ(CALL(cuda, cuCtxDetach)(context), CUDA_SUCCESS);
        expect_held(0);
    });
}

TEST_F(GuardAttachedContexts, EndWhenTheyAreDestroyedThoughAttached) {
    with_cuda([this](const Library& cuda) {
        const CUcontext context = create(cuda);
        CUcontext attached = nullptr;
        EXPECT_EQ(CALL(cuda, cuCtxAttach)(&attached, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxDestroy_v2)(context), CUDA_SUCCESS);
        expect_held(0);
        EXPECT_EQ(CALL(cuda, cuCtxDetach)(context), CUDA_ERROR_INVALID_CONTEXT);
        const CUcontext next = create(cuda);
        EXPECT_EQ(CALL(cuda, cuCtxDetach)(next), CUDA_SUCCESS);
        expect_held(0);
    });
}

// A context that is not current, and a primary context, are not detached.
TEST_F(GuardAttachedContexts, CountOnWhereTheDriverDoesNotDetach) {
    with_cuda([this](const Library& cuda) {
        const CUcontext first = create(cuda);
        const CUcontext second = create(cuda);
        EXPECT_EQ(CALL(cuda, cuCtxDetach)(first), CUDA_ERROR_INVALID_CONTEXT);
        expect_held(2 * kContext);
        EXPECT_EQ(CALL(cuda, cuCtxDetach)(second), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxSetCurrent)(first), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxDetach)(first), CUDA_SUCCESS);
        expect_held(0);
    });
}

// What the simulated driver takes for one green context.
constexpr std::uint64_t kGreen = 14 * kMiB;

class GuardGreenContexts : public GuardAttachedContexts {
  protected:
    static CUresult try_green(const Library& cuda, CUgreenCtx& green, CUdevice device = 0) {
        CUdevResource all = {};
        CUdevResourceDesc description = nullptr;
        EXPECT_EQ(CALL(cuda, cuDeviceGetDevResource)(device, &all, CU_DEV_RESOURCE_TYPE_SM),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuDevResourceGenerateDesc)(&description, &all, 1), CUDA_SUCCESS);
        return CALL(cuda, cuGreenCtxCreate)(&green, description, device,
                                            CU_GREEN_CTX_DEFAULT_STREAM);
    }
    static CUgreenCtx make_green(const Library& cuda) {
        CUgreenCtx green = nullptr;
        EXPECT_EQ(try_green(cuda, green), CUDA_SUCCESS);
        return green;
    }
    static void enter(const Library& cuda, CUgreenCtx green) {
        CUcontext context = nullptr;
        EXPECT_EQ(CALL(cuda, cuCtxFromGreenCtx)(&context, green), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxSetCurrent)(context), CUDA_SUCCESS);
    }
};

TEST_F(GuardGreenContexts, CountWithThePrimaryContextThatTheyBringUp) {
    with_cuda([this](const Library& cuda) {
        const CUgreenCtx green = make_green(cuda);
        expect_held(kContext + kGreen);
        const CUgreenCtx second = make_green(cuda);
        expect_held(kContext + 2 * kGreen);
        EXPECT_EQ(CALL(cuda, cuGreenCtxDestroy)(green), CUDA_SUCCESS);
        expect_held(kContext + kGreen);
        EXPECT_EQ(CALL(cuda, cuGreenCtxDestroy)(second), CUDA_SUCCESS);
        expect_held(0);
    });
}

TEST_F(GuardGreenContexts, LeaveAPrimaryContextThatIsUsed) {
    with_cuda([this](const Library& cuda) {
        CUcontext primary = nullptr;
        EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxRetain)(&primary, 0), CUDA_SUCCESS);
        const CUgreenCtx green = make_green(cuda);
        EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxRelease_v2)(0), CUDA_SUCCESS);
        expect_held(kContext + kGreen);
        EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxRetain)(&primary, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuGreenCtxDestroy)(green), CUDA_SUCCESS);
        expect_held(kContext);
        EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxRelease_v2)(0), CUDA_SUCCESS);
        expect_held(0);
    });
}

TEST_F(GuardGreenContexts, WhatIsAllocatedInOneCountsUntilThePrimaryContextEnds) {
    with_cuda([this](const Library& cuda) {
        CUcontext primary = nullptr;
        EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxRetain)(&primary, 0), CUDA_SUCCESS);
        const CUgreenCtx green = make_green(cuda);
        enter(cuda, green);
        take(cuda, 200 * kMiB);
        CUdeviceptr refused = 0;
        EXPECT_EQ(CALL(cuda, cuMemAlloc_v2)(&refused, kGiB), CUDA_ERROR_OUT_OF_MEMORY);
        expect_held(kContext + kGreen + 200 * kMiB);
        EXPECT_EQ(CALL(cuda, cuGreenCtxDestroy)(green), CUDA_SUCCESS);
        expect_held(kContext + 200 * kMiB);
        EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxRelease_v2)(0), CUDA_SUCCESS);
        expect_held(0);
    });
}

// Goal: when a green context has ended and a new context has its handle, the two are kept apart:
// each releases its own memory. The simulated driver gives the handle to the next context.
TEST_F(GuardGreenContexts, LeaveNothingToAContextThatHasTheirHandle) {
    with_cuda([this](const Library& cuda) {
        CUcontext primary = nullptr;
        EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxRetain)(&primary, 0), CUDA_SUCCESS);
        for (const bool primary_ends_first : {true, false}) {
            const CUgreenCtx green = make_green(cuda);
            enter(cuda, green);
            take(cuda, 50 * kMiB);
            CUcontext of_green = nullptr;
            EXPECT_EQ(CALL(cuda, cuCtxFromGreenCtx)(&of_green, green), CUDA_SUCCESS);
            EXPECT_EQ(CALL(cuda, cuGreenCtxDestroy)(green), CUDA_SUCCESS);
            CUcontext made = nullptr;
            EXPECT_EQ(CALL(cuda, cuCtxCreate_v2)(&made, 0, 0), CUDA_SUCCESS);
            EXPECT_EQ(made, of_green);
            take(cuda, 70 * kMiB);
            expect_held(2 * kContext + 120 * kMiB);
            if (primary_ends_first) {
                EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxRelease_v2)(0), CUDA_SUCCESS);
                expect_held(kContext + 70 * kMiB);
                EXPECT_EQ(CALL(cuda, cuCtxDestroy_v2)(made), CUDA_SUCCESS);
                expect_held(0);
                EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxRetain)(&primary, 0), CUDA_SUCCESS);
            } else {
                EXPECT_EQ(CALL(cuda, cuCtxDestroy_v2)(made), CUDA_SUCCESS);
                expect_held(kContext + 50 * kMiB);
                EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxRelease_v2)(0), CUDA_SUCCESS);
                expect_held(0);
            }
        }
    });
}

TEST_F(GuardGreenContexts, EndWithAResetOfTheirDevice) {
    with_cuda([this](const Library& cuda) {
        const CUgreenCtx green = make_green(cuda);
        enter(cuda, green);
        take(cuda, 200 * kMiB);
        EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxReset_v2)(0), CUDA_SUCCESS);
        expect_held(0);
    });
}

TEST_F(GuardGreenContexts, AreRefusedOverTheLimitAndOnAGpuOfOthers) {
    with_cuda([this](const Library& cuda) {
        CUgreenCtx green = nullptr;
        EXPECT_EQ(try_green(cuda, green, 1), CUDA_ERROR_OPERATING_SYSTEM);
        EXPECT_EQ(node_.used(1), 0U);
        const CUcontext context = create(cuda);
        take(cuda, kGiB - 2 * kContext);  // there is room only for the primary context
        EXPECT_EQ(try_green(cuda, green), CUDA_ERROR_OUT_OF_MEMORY);
        expect_held(kGiB - kContext);
        EXPECT_EQ(CALL(cuda, cuCtxDestroy_v2)(context), CUDA_SUCCESS);
        expect_held(0);
    });
}

}  // namespace
}  // namespace tessera::guard
