// Goal: arrays and mipmaps take memory of the GPU, queries of them are answered as documented, and
// those with deferred mapping take none.
#include "gpusim/test_support/cuda_test.hpp"

namespace gpusim {
namespace {

class CudaArrays : public CudaTest {};

constexpr CUDA_ARRAY3D_DESCRIPTOR floats(std::size_t width, std::size_t height, std::size_t depth,
                                         unsigned flags = 0) {
    return {width, height, depth, CU_AD_FORMAT_FLOAT, 4, flags};
}

TEST_F(CudaArrays, TakeMemoryUntilDestroyed) {
    with_context([this](const Library& cuda) {
        const CUDA_ARRAY_DESCRIPTOR wanted = {1024, 1024, CU_AD_FORMAT_UNSIGNED_INT8, 4};
        CUarray array = nullptr;
        ASSERT_EQ(CALL(cuda, cuArrayCreate_v2)(&array, &wanted), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 4 * kMiB);
        CUDA_ARRAY_DESCRIPTOR found = {};
        CUDA_ARRAY3D_DESCRIPTOR found3 = {};
        EXPECT_EQ(CALL(cuda, cuArrayGetDescriptor_v2)(&found, array), CUDA_SUCCESS);
        EXPECT_EQ(found.Width, 1024U);
        EXPECT_EQ(found.NumChannels, 4U);
        EXPECT_EQ(CALL(cuda, cuArray3DGetDescriptor_v2)(&found3, array), CUDA_SUCCESS);
        EXPECT_EQ(found3.Height, 1024U);
        EXPECT_EQ(found3.Depth, 0U);
        EXPECT_EQ(CALL(cuda, cuArrayDestroy)(array), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U);
        EXPECT_EQ(CALL(cuda, cuArrayDestroy)(array), CUDA_ERROR_INVALID_HANDLE);
        EXPECT_EQ(CALL(cuda, cuArrayGetDescriptor_v2)(&found, array), CUDA_ERROR_INVALID_HANDLE);
    });
}

TEST_F(CudaArrays, HaveThreeDimensionsAndLayers) {
    with_context([this](const Library& cuda) {
        const auto make = CALL(cuda, cuArray3DCreate_v2);
        const struct {
            CUDA_ARRAY3D_DESCRIPTOR wanted;
            CUresult result;
            std::uint64_t used;
        } rows[] = {
            {floats(64, 64, 64), CUDA_SUCCESS, 4 * kMiB},
            {floats(64, 0, 0), CUDA_SUCCESS, 2 * kMiB},
            {floats(64, 64, 3, CUDA_ARRAY3D_LAYERED), CUDA_SUCCESS, 2 * kMiB},
            {floats(64, 0, 3, CUDA_ARRAY3D_LAYERED), CUDA_SUCCESS, 2 * kMiB},
            {floats(64, 64, 6, CUDA_ARRAY3D_CUBEMAP), CUDA_SUCCESS, 2 * kMiB},
            {floats(64, 64, 5, CUDA_ARRAY3D_CUBEMAP), CUDA_ERROR_INVALID_VALUE, 0},
            {floats(64, 32, 6, CUDA_ARRAY3D_CUBEMAP), CUDA_ERROR_INVALID_VALUE, 0},
            {floats(64, 0, 3), CUDA_ERROR_INVALID_VALUE, 0},
            {floats(0, 1, 0), CUDA_ERROR_INVALID_VALUE, 0},
            {floats(64, 64, 0, CUDA_ARRAY3D_LAYERED), CUDA_ERROR_INVALID_VALUE, 0},
            {floats(64, 64, 0, 0x1000), CUDA_ERROR_INVALID_VALUE, 0},
            {floats(64, 64, 0, CUDA_ARRAY3D_SPARSE), CUDA_ERROR_NOT_SUPPORTED, 0},
            {{64, 64, 0, CU_AD_FORMAT_FLOAT, 3, 0}, CUDA_ERROR_INVALID_VALUE, 0},
            {{64, 64, 0, CU_AD_FORMAT_NV12, 1, 0}, CUDA_ERROR_NOT_SUPPORTED, 0},
            {floats(16384, 16384, 0), CUDA_ERROR_OUT_OF_MEMORY, 0},
        };
        for (const auto& row : rows) {
            CUarray array = nullptr;
            EXPECT_EQ(make(&array, &row.wanted), row.result) << row.wanted.Flags;
            EXPECT_EQ(node_.used(0), row.used);
            if (array != nullptr) {
                EXPECT_EQ(CALL(cuda, cuArrayDestroy)(array), CUDA_SUCCESS);
            }
        }
        EXPECT_EQ(node_.used(0), 0U);
    });
}

TEST_F(CudaArrays, MipmapsHaveLevels) {
    with_context([this](const Library& cuda) {
        const CUDA_ARRAY3D_DESCRIPTOR wanted = floats(512, 256, 0);
        CUmipmappedArray mipmap = nullptr;
        ASSERT_EQ(CALL(cuda, cuMipmappedArrayCreate)(&mipmap, &wanted, 100), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 4 * kMiB) << "2 MiB, and a third of that for the smaller ones";
        CUarray level = nullptr;
        const auto get = CALL(cuda, cuMipmappedArrayGetLevel);
        EXPECT_EQ(get(&level, mipmap, 10), CUDA_ERROR_INVALID_VALUE) << "10 levels, down to 1 x 1";
        ASSERT_EQ(get(&level, mipmap, 2), CUDA_SUCCESS);
        CUDA_ARRAY3D_DESCRIPTOR found = {};
        EXPECT_EQ(CALL(cuda, cuArray3DGetDescriptor_v2)(&found, level), CUDA_SUCCESS);
        EXPECT_EQ(found.Width, 128U);
        EXPECT_EQ(found.Height, 64U);
        EXPECT_EQ(CALL(cuda, cuArrayDestroy)(level), CUDA_ERROR_INVALID_HANDLE);
        EXPECT_EQ(CALL(cuda, cuMipmappedArrayDestroy)(mipmap), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U);
        EXPECT_EQ(CALL(cuda, cuArray3DGetDescriptor_v2)(&found, level), CUDA_ERROR_INVALID_HANDLE);
        EXPECT_EQ(CALL(cuda, cuMipmappedArrayDestroy)(mipmap), CUDA_ERROR_INVALID_HANDLE);
    });
}

TEST_F(CudaArrays, DeferredOnesTakeNothingAndSayWhatTheyWant) {
    with_context([this](const Library& cuda) {
        const CUDA_ARRAY3D_DESCRIPTOR wanted = floats(512, 256, 0, CUDA_ARRAY3D_DEFERRED_MAPPING);
        CUarray array = nullptr;
        CUmipmappedArray mipmap = nullptr;
        CUDA_ARRAY_MEMORY_REQUIREMENTS needs = {};
        ASSERT_EQ(CALL(cuda, cuArray3DCreate_v2)(&array, &wanted), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuMipmappedArrayCreate)(&mipmap, &wanted, 3), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U);
        EXPECT_EQ(CALL(cuda, cuArrayGetMemoryRequirements)(&needs, array, 0), CUDA_SUCCESS);
        EXPECT_EQ(needs.size, 2 * kMiB);
        EXPECT_GT(needs.alignment, 0U);
        EXPECT_EQ(CALL(cuda, cuMipmappedArrayGetMemoryRequirements)(&needs, mipmap, 0),
                  CUDA_SUCCESS);
        EXPECT_GT(needs.size, 2 * kMiB);
        EXPECT_EQ(CALL(cuda, cuArrayDestroy)(array), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMipmappedArrayDestroy)(mipmap), CUDA_SUCCESS);

        const CUDA_ARRAY3D_DESCRIPTOR plain = floats(512, 256, 0);
        ASSERT_EQ(CALL(cuda, cuArray3DCreate_v2)(&array, &plain), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuArrayGetMemoryRequirements)(&needs, array, 0),
                  CUDA_ERROR_INVALID_VALUE)
            << "as documented";
    });
    EXPECT_EQ(node_.used(0), 0U);
}

}  // namespace
}  // namespace gpusim
