// Goal: arrays of all shapes are charged as the driver takes them, until they or their context are
// destroyed. Method: the facade in front of the simulated driver; its own count is compared after
// each step.
#include "guard/test_support/held_memory.hpp"

namespace tessera::guard {
namespace {

using gpusim::CudaProgram;
using gpusim::kMiB;

constexpr auto kFloat = CU_AD_FORMAT_FLOAT;

using GuardArrays = HeldMemory;

CUresult create(const CudaProgram& tenant, CUarray& array, const CUDA_ARRAY3D_DESCRIPTOR& wanted) {
    return CALL(tenant.cuda, cuArray3DCreate_v2)(&array, &wanted);
}

CUresult destroy(const CudaProgram& tenant, CUarray array) {
    return CALL(tenant.cuda, cuArrayDestroy)(array);
}

TEST_F(GuardArrays, ExactToAnAllocationUnit) {
    in_tenant([&](CudaProgram& tenant) {
        const CUDA_ARRAY_DESCRIPTOR large = {10000, 5000, kFloat, 4};
        const CUDA_ARRAY_DESCRIPTOR over = {8192, 2048, CU_AD_FORMAT_HALF, 4};
        CUarray first = nullptr;
        CUarray second = nullptr;
        EXPECT_EQ(CALL(tenant.cuda, cuArrayCreate_v2)(&first, &large), CUDA_SUCCESS);
        expect_held(kContext + 764 * kMiB);
        EXPECT_EQ(CALL(tenant.cuda, cuArrayCreate_v2)(&second, &over), CUDA_SUCCESS);
        expect_held(kContext + 892 * kMiB);
        EXPECT_EQ(CALL(tenant.cuda, cuArrayCreate_v2)(&second, &over), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(destroy(tenant, first), CUDA_SUCCESS);
        expect_held(kContext + 128 * kMiB);
        EXPECT_EQ(destroy(tenant, first), CUDA_ERROR_INVALID_HANDLE);
        EXPECT_EQ(CALL(tenant.cuda, cuArrayCreate_v2)(&second, &over), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuCtxDestroy_v2)(tenant.context), CUDA_SUCCESS);
        expect_held(0);
    });
}

TEST_F(GuardArrays, OfAllShapes) {
    in_tenant([&](CudaProgram& tenant) {
        const CUDA_ARRAY3D_DESCRIPTOR shapes[] = {
            {100000, 0, 0, kFloat, 4, 0},
            {1000, 1000, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0},
            {1001, 1001, 3, kFloat, 1, 0},
            {300, 200, 100, CU_AD_FORMAT_HALF, 2, 0},
            {1000, 1001, 7, kFloat, 2, CUDA_ARRAY3D_LAYERED},
            {999, 0, 1000, kFloat, 1, CUDA_ARRAY3D_LAYERED},
            {500, 500, 6, kFloat, 4, CUDA_ARRAY3D_CUBEMAP},
            {500, 500, 12, kFloat, 4, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED},
        };
        for (const CUDA_ARRAY3D_DESCRIPTOR& shape : shapes) {
            SCOPED_TRACE(shape.Width);
            CUarray array = nullptr;
            EXPECT_EQ(create(tenant, array, shape), CUDA_SUCCESS);
            EXPECT_GT(held_bytes(), kContext);
            EXPECT_EQ(held_bytes(), node_.used(0));
            EXPECT_EQ(destroy(tenant, array), CUDA_SUCCESS);
            expect_held(kContext);
            for (const unsigned levels : {0U, 1U, 3U, 99U}) {
                CUmipmappedArray mipmap = nullptr;
                EXPECT_EQ(CALL(tenant.cuda, cuMipmappedArrayCreate)(&mipmap, &shape, levels),
                          CUDA_SUCCESS);
                EXPECT_EQ(held_bytes(), node_.used(0)) << levels;
                EXPECT_EQ(CALL(tenant.cuda, cuMipmappedArrayDestroy)(mipmap), CUDA_SUCCESS);
                expect_held(kContext);
            }
        }
    });
}

TEST_F(GuardArrays, WithoutMemoryTheyTakeNothing) {
    in_tenant([&](CudaProgram& tenant) {
        CUarray array = nullptr;
        EXPECT_EQ(
            create(tenant, array, {100000, 100000, 0, kFloat, 4, CUDA_ARRAY3D_DEFERRED_MAPPING}),
            CUDA_SUCCESS);
        expect_held(kContext);
        EXPECT_EQ(destroy(tenant, array), CUDA_SUCCESS);
    });
}

TEST_F(GuardArrays, WhatTheDriverRefusesIsPutBack) {
    in_tenant([&](CudaProgram& tenant) {
        CUarray array = nullptr;
        CUmipmappedArray mipmap = nullptr;
        const CUDA_ARRAY3D_DESCRIPTOR fine = {1000, 1000, 0, kFloat, 4, 0};
        const CUDA_ARRAY3D_DESCRIPTOR wrong = {1000, 1000, 0, kFloat, 3, 0};
        EXPECT_EQ(node_.control("fault 0 allocation 1"), 0);
        EXPECT_EQ(create(tenant, array, fine), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(node_.control("fault 0 allocation 1"), 0);
        EXPECT_EQ(CALL(tenant.cuda, cuMipmappedArrayCreate)(&mipmap, &fine, 3),
                  CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(create(tenant, array, wrong), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(tenant.cuda, cuArray3DCreate_v2)(&array, nullptr), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(tenant.cuda, cuArray3DCreate_v2)(nullptr, &fine), CUDA_ERROR_INVALID_VALUE);
        expect_held(kContext);
    });
    EXPECT_EQ(container_.region().accounts().gpus[0].refusals.load(), 0U);
}

}  // namespace
}  // namespace tessera::guard
