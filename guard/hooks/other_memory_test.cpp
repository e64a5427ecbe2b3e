// Goal: memory by address is charged as the driver takes it, whichever call allocates it: in rows,
// managed, or by the entry points of CUDA 2. Method: the facade in front of the simulated driver;
// its own count is compared after each step.
#include <climits>
#include <functional>

#include "guard/test_support/held_memory.hpp"

namespace tessera::guard {
namespace {

using gpusim::CudaProgram;
using gpusim::kGiB;
using gpusim::kMiB;
using gpusim::Library;

using GuardOtherMemory = HeldMemory;

TEST_F(GuardOtherMemory, RowsCountWithTheirPadding) {
    in_tenant([&](CudaProgram& tenant) {
        const auto alloc = CALL(tenant.cuda, cuMemAllocPitch_v2);
        CUdeviceptr pointer = 0;
        CUdeviceptr other = 0;
        size_t pitch = 0;
        EXPECT_EQ(alloc(&pointer, &pitch, 513, std::size_t{900} * 1024, 4), CUDA_SUCCESS);
        EXPECT_EQ(pitch, 1024U);
        expect_held(kContext + 900 * kMiB);
        EXPECT_EQ(alloc(&other, &pitch, 1, std::size_t{2} * 1024 * 24 + 1, 4),
                  CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(CALL(tenant.cuda, cuMemFree_v2)(pointer), CUDA_SUCCESS);
        expect_held(kContext);
        EXPECT_EQ(alloc(&pointer, &pitch, 1, 0, 4), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(alloc(&pointer, &pitch, 1000, 1000, 3), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(alloc(&pointer, nullptr, 1000, 1000, 4), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(alloc(&pointer, &pitch, 1 << 30, ~std::size_t{0}, 4), CUDA_ERROR_OUT_OF_MEMORY);
        expect_held(kContext);
    });
}

TEST_F(GuardOtherMemory, ManagedMemoryCountsInFull) {
    in_tenant([&](CudaProgram& tenant) {
        const auto alloc = CALL(tenant.cuda, cuMemAllocManaged);
        CUdeviceptr pointer = 0;
        CUdeviceptr other = 0;
        EXPECT_EQ(alloc(&pointer, 900 * kMiB, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
        EXPECT_EQ(held_bytes(), kContext + 900 * kMiB);
        EXPECT_EQ(node_.used(0), kContext) << "it is in host memory until it is touched";
        EXPECT_EQ(CALL(tenant.cuda, cuMemsetD8_v2)(pointer, 1, 900 * kMiB), CUDA_SUCCESS);
        expect_held(kContext + 900 * kMiB);
        EXPECT_EQ(alloc(&other, 26 * kMiB, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(alloc(&other, 1, CU_MEM_ATTACH_HOST), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuMemsetD8_v2)(other, 1, 1), CUDA_SUCCESS);
        expect_held(kContext + 902 * kMiB);
        EXPECT_EQ(alloc(&other, 1, 0), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(tenant.cuda, cuMemFree_v2)(pointer), CUDA_SUCCESS);
        expect_held(kContext + 2 * kMiB);
        EXPECT_EQ(CALL(tenant.cuda, cuCtxDestroy_v2)(tenant.context), CUDA_SUCCESS);
        expect_held(0);
    });
}

TEST_F(GuardOtherMemory, TheEntryPointsOfCuda2AreHeld) {
    in_tenant([&](CudaProgram& tenant) {
        CUdeviceptr_v1 pointer = 0;
        CUdeviceptr_v1 other = 0;
        unsigned pitch = 0;
        EXPECT_EQ(CALL(tenant.cuda, cuMemAlloc)(&pointer, 500U << 20), CUDA_SUCCESS);
        expect_held(kContext + 500 * kMiB);
        EXPECT_EQ(CALL(tenant.cuda, cuMemAlloc)(&other, 426U << 20), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(CALL(tenant.cuda, cuMemAllocPitch)(&other, &pitch, 513, 424 << 10, 4),
                  CUDA_SUCCESS);
        expect_held(kGiB);
        EXPECT_EQ(CALL(tenant.cuda, cuMemFree)(pointer), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuMemFree_v2)(other), CUDA_SUCCESS)
            << "both entry points use the same memory";
        expect_held(kContext);
        EXPECT_EQ(CALL(tenant.cuda, cuMemAlloc)(&pointer, 0), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(tenant.cuda, cuMemFree)(pointer), CUDA_ERROR_INVALID_VALUE);
        expect_held(kContext);
    });
}

TEST_F(GuardOtherMemory, ArraysOfCuda2AreHeld) {
    in_tenant([&](CudaProgram& tenant) {
        const CUDA_ARRAY_DESCRIPTOR_v1 large = {10000, 5000, CU_AD_FORMAT_FLOAT, 4};
        const CUDA_ARRAY3D_DESCRIPTOR_v1 box = {8192, 2048, 0, CU_AD_FORMAT_HALF, 4, 0};
        CUarray first = nullptr;
        CUarray second = nullptr;
        EXPECT_EQ(CALL(tenant.cuda, cuArrayCreate)(&first, &large), CUDA_SUCCESS);
        expect_held(kContext + 764 * kMiB);
        EXPECT_EQ(CALL(tenant.cuda, cuArrayCreate)(&second, &large), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(CALL(tenant.cuda, cuArray3DCreate)(&second, &box), CUDA_SUCCESS);
        expect_held(kContext + 892 * kMiB);
        EXPECT_EQ(CALL(tenant.cuda, cuArray3DCreate)(&second, &box), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(CALL(tenant.cuda, cuArrayDestroy)(first), CUDA_SUCCESS);
        expect_held(kContext + 128 * kMiB);
        EXPECT_EQ(CALL(tenant.cuda, cuArrayCreate)(&first, nullptr), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(tenant.cuda, cuArray3DCreate)(&first, nullptr), CUDA_ERROR_INVALID_VALUE);
    });
}

TEST_F(GuardOtherMemory, ContextsByEachCall) {
    in_tenant([&](CudaProgram& tenant) {
        const Library& cuda = tenant.cuda;
        using Create = std::function<CUresult(CUcontext*, CUdevice)>;
        const Create creates[] = {
            [&](auto* of, int on) { return CALL(cuda, cuCtxCreate)(of, 0, on); },
            [&](auto* of, int on) { return CALL(cuda, cuCtxCreate_v2)(of, 0, on); },
            [&](auto* of, int on) { return CALL(cuda, cuCtxCreate_v3)(of, nullptr, 0, 0, on); },
            [&](auto* of, int on) { return CALL(cuda, cuCtxCreate_v4)(of, nullptr, 0, on); },
        };
        for (const Create& create : creates) {
            for (const auto destroy : {CALL(cuda, cuCtxDestroy), CALL(cuda, cuCtxDestroy_v2)}) {
                CUcontext context = nullptr;
                CUdeviceptr pointer = 0;
                EXPECT_EQ(create(&context, 0), CUDA_SUCCESS);
                EXPECT_EQ(CALL(cuda, cuMemAlloc_v2)(&pointer, 100 * kMiB), CUDA_SUCCESS);
                expect_held(2 * kContext + 100 * kMiB);
                EXPECT_EQ(CALL(cuda, cuCtxPopCurrent)(&context), CUDA_SUCCESS);
                EXPECT_EQ(CALL(cuda, cuCtxPushCurrent)(context), CUDA_SUCCESS);
                EXPECT_EQ(CALL(cuda, cuCtxPopCurrent_v2)(&context), CUDA_SUCCESS);
                EXPECT_EQ(CALL(cuda, cuCtxPushCurrent_v2)(context), CUDA_SUCCESS);
                EXPECT_EQ(destroy(context), CUDA_SUCCESS);
                expect_held(kContext);
                EXPECT_EQ(create(&context, 1), CUDA_ERROR_OPERATING_SYSTEM);
            }
        }
    });
}

TEST_F(GuardOtherMemory, TheEntryPointsOfCuda2TellOfTheShare) {
    in_tenant([&](CudaProgram& tenant) {
        unsigned free = 0;
        unsigned total = 0;
        EXPECT_EQ(CALL(tenant.cuda, cuMemGetInfo)(&free, &total), CUDA_SUCCESS);
        EXPECT_EQ(free, 924U << 20);
        EXPECT_EQ(total, 1U << 30);
        EXPECT_EQ(CALL(tenant.cuda, cuDeviceTotalMem)(&total, 0), CUDA_SUCCESS);
        EXPECT_EQ(total, 1U << 30);
        EXPECT_EQ(CALL(tenant.cuda, cuDeviceTotalMem)(&total, 1), CUDA_ERROR_OPERATING_SYSTEM);
        container_.limits().gpus[0].memory = units_of(6 * kGiB);
        EXPECT_EQ(CALL(tenant.cuda, cuMemGetInfo)(&free, &total), CUDA_SUCCESS);
        EXPECT_EQ(free, UINT_MAX) << "the largest 32-bit number";
        EXPECT_EQ(total, UINT_MAX);
    });
}

TEST_F(GuardOtherMemory, WhatTheDriverRefusesIsPutBack) {
    in_tenant([&](CudaProgram& tenant) {
        CUdeviceptr pointer = 0;
        CUdeviceptr_v1 low = 0;
        size_t pitch = 0;
        for (int call = 0; call < 3; call++) {
            EXPECT_EQ(node_.control("fault 0 allocation 1"), 0);
            const CUresult result =
                call == 0   ? CALL(tenant.cuda, cuMemAlloc_v2)(&pointer, 10 * kMiB)
                : call == 1 ? CALL(tenant.cuda, cuMemAllocPitch_v2)(&pointer, &pitch, 1000, 9999, 4)
                            : CALL(tenant.cuda, cuMemAlloc)(&low, 10 << 20);
            EXPECT_EQ(result, CUDA_ERROR_OUT_OF_MEMORY) << call;
            expect_held(kContext);
        }
    });
    EXPECT_EQ(container_.region().accounts().gpus[0].refusals.load(), 0U);
}

// It is host memory, even if a GPU can access it.
TEST_F(GuardOtherMemory, TheHostsMemoryTakesNothing) {
    in_tenant([&](CudaProgram& tenant) {
        void* pointer = nullptr;
        EXPECT_EQ(CALL(tenant.cuda, cuMemHostAlloc)(&pointer, 2 * kGiB, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuMemAllocHost_v2)(&pointer, 2 * kGiB), CUDA_SUCCESS);
        expect_held(kContext);
    });
}

}  // namespace
}  // namespace tessera::guard
