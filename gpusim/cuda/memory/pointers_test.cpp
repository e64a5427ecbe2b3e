// Goal: what the driver reports about an address is true, whatever is behind it.
#include "gpusim/test_support/cuda_test.hpp"

namespace gpusim {
namespace {

class CudaPointers : public CudaTest {
  protected:
    template <class Value>
    static Value get(const Library& cuda, CUpointer_attribute attribute, CUdeviceptr pointer) {
        Value value = {};
        EXPECT_EQ(CALL(cuda, cuPointerGetAttribute)(static_cast<void*>(&value), attribute, pointer),
                  CUDA_SUCCESS)
            << attribute;
        return value;
    }
};

TEST_F(CudaPointers, AreTold) {
    with_context([](const Library& cuda) {
        CUcontext context = nullptr;
        CUdeviceptr device = 0;
        CUdeviceptr managed = 0;
        CUdeviceptr pooled = 0;
        void* host = nullptr;
        ASSERT_EQ(CALL(cuda, cuCtxGetCurrent)(&context), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuMemAlloc_v2)(&device, 5000), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuMemAllocManaged)(&managed, 5000, 1), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuMemAllocAsync)(&pooled, 5000, nullptr), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuMemAllocHost_v2)(&host, 5000), CUDA_SUCCESS);
        CUmemoryPool pool = nullptr;
        ASSERT_EQ(CALL(cuda, cuDeviceGetDefaultMemPool)(&pool, 0), CUDA_SUCCESS);
        const auto at_host = reinterpret_cast<CUdeviceptr>(host);
        const struct {
            CUdeviceptr base;
            unsigned type;
            bool is_managed;
            CUmemoryPool pool;
        } rows[] = {{device, CU_MEMORYTYPE_DEVICE, false, nullptr},
                    {managed, CU_MEMORYTYPE_DEVICE, true, nullptr},
                    {pooled, CU_MEMORYTYPE_DEVICE, false, pool},
                    {at_host, CU_MEMORYTYPE_HOST, false, nullptr}};
        for (const auto& row : rows) {
            const CUdeviceptr inside = row.base + 4000;
            EXPECT_EQ(get<unsigned>(cuda, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, inside), row.type);
            EXPECT_EQ(get<bool>(cuda, CU_POINTER_ATTRIBUTE_IS_MANAGED, inside), row.is_managed);
            EXPECT_EQ(get<CUmemoryPool>(cuda, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, inside),
                      row.pool);
            EXPECT_EQ(get<CUcontext>(cuda, CU_POINTER_ATTRIBUTE_CONTEXT, inside), context);
            EXPECT_EQ(get<int>(cuda, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, inside), 0);
            EXPECT_EQ(get<CUdeviceptr>(cuda, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, inside),
                      row.base);
            EXPECT_EQ(get<size_t>(cuda, CU_POINTER_ATTRIBUTE_RANGE_SIZE, inside), 5000U);
            EXPECT_EQ(get<CUdeviceptr>(cuda, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, inside), inside);
        }
        EXPECT_EQ(get<void*>(cuda, CU_POINTER_ATTRIBUTE_HOST_POINTER, at_host), host);
        EXPECT_EQ(get<void*>(cuda, CU_POINTER_ATTRIBUTE_HOST_POINTER, managed),
                  as_pointer(managed));
        const auto ask = CALL(cuda, cuPointerGetAttribute);
        std::uint64_t some = 0;
        EXPECT_EQ(ask(&some, CU_POINTER_ATTRIBUTE_HOST_POINTER, device), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(ask(&some, CU_POINTER_ATTRIBUTE_CONTEXT, 4096), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(ask(nullptr, CU_POINTER_ATTRIBUTE_CONTEXT, device), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(ask(&some, CU_POINTER_ATTRIBUTE_P2P_TOKENS, device), CUDA_ERROR_INVALID_VALUE);
        EXPECT_NE(get<cuuint64_t>(cuda, CU_POINTER_ATTRIBUTE_BUFFER_ID, device),
                  get<cuuint64_t>(cuda, CU_POINTER_ATTRIBUTE_BUFFER_ID, managed));
    });
}

TEST_F(CudaPointers, SeveralAttributesAtOnceTakeAnyAddress) {
    with_context([](const Library& cuda) {
        CUdeviceptr device = 0;
        ASSERT_EQ(CALL(cuda, cuMemAlloc_v2)(&device, 5000), CUDA_SUCCESS);
        unsigned type = 7;
        size_t bytes = 7;
        bool is_managed = true;
        CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                       CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                       CU_POINTER_ATTRIBUTE_IS_MANAGED};
        void* answers[] = {&type, &bytes, &is_managed};
        const auto ask = CALL(cuda, cuPointerGetAttributes);
        EXPECT_EQ(ask(3, asked, answers, device), CUDA_SUCCESS);
        EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_DEVICE});
        EXPECT_EQ(bytes, 5000U);
        EXPECT_FALSE(is_managed);
        EXPECT_EQ(ask(3, asked, answers, 4096), CUDA_SUCCESS);
        EXPECT_EQ(type, 0U);
        EXPECT_EQ(bytes, 0U);
        EXPECT_EQ(ask(0, asked, answers, device), CUDA_ERROR_INVALID_VALUE);
    });
}

TEST_F(CudaPointers, ReservedAddressesAreNotMapped) {
    with_cuda([](const Library& cuda) {
        CUdeviceptr pointer = 0;
        ASSERT_EQ(CALL(cuda, cuMemAddressReserve)(&pointer, 2 * kMiB, 0, 0, 0), CUDA_SUCCESS);
        EXPECT_FALSE(get<bool>(cuda, CU_POINTER_ATTRIBUTE_MAPPED, pointer));
    });
}

}  // namespace
}  // namespace gpusim
