// Goal: virtual memory management in one process is as documented: physical memory is taken when it
// is created and released with the last handle and the last mapping.
#include "gpusim/test_support/conformance.hpp"

namespace gpusim {
namespace {

constexpr std::size_t kBytes = 64 * kMiB;
constexpr CUmemAccessDesc kReadWrite = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                        CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

constexpr CUmemAllocationProp on_device() {
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    return properties;
}

class ConformingVirtualMemory : public Conformance {
  protected:
    static CUmemGenericAllocationHandle create(const Library& cuda, std::size_t bytes = kBytes) {
        const CUmemAllocationProp properties = on_device();
        CUmemGenericAllocationHandle handle = 0;
        EXPECT_EQ(CALL(cuda, cuMemCreate)(&handle, bytes, &properties, 0), CUDA_SUCCESS);
        return handle;
    }
    static CUdeviceptr reserve(const Library& cuda, std::size_t bytes) {
        CUdeviceptr pointer = 0;
        EXPECT_EQ(CALL(cuda, cuMemAddressReserve)(&pointer, bytes, 0, 0, 0), CUDA_SUCCESS);
        return pointer;
    }
    template <class Body>
    void where_there_is_some(Body body) const {
        with_context([&](const Library& cuda) {
            if (supports(cuda, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)) body(cuda);
        });
    }
};

// The guard's accounts rely on this unit.
TEST_F(ConformingVirtualMemory, HasAllocationUnitsOf2MiB) {
    where_there_is_some([](const Library& cuda) {
        const CUmemAllocationProp properties = on_device();
        size_t granularity = 0;
        EXPECT_EQ(CALL(cuda, cuMemGetAllocationGranularity)(&granularity, &properties,
                                                            CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                  CUDA_SUCCESS);
        EXPECT_EQ(granularity, 2 * kMiB);
        CUmemGenericAllocationHandle handle = 0;
        EXPECT_EQ(CALL(cuda, cuMemCreate)(&handle, kMiB, &properties, 0), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemCreate)(&handle, 0, &properties, 0), CUDA_ERROR_INVALID_VALUE);
    });
}

TEST_F(ConformingVirtualMemory, CreateTakesAndReleaseGivesBack) {
    where_there_is_some([](const Library& cuda) {
        const std::uint64_t before = taken(cuda);
        const auto handle = create(cuda);
        EXPECT_EQ(taken(cuda), before + kBytes) << "without a reservation or a mapping";
        CUmemAllocationProp found = {};
        EXPECT_EQ(CALL(cuda, cuMemGetAllocationPropertiesFromHandle)(&found, handle), CUDA_SUCCESS);
        EXPECT_EQ(found.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
        EXPECT_EQ(found.location.id, 0);
        EXPECT_EQ(CALL(cuda, cuMemRelease)(handle), CUDA_SUCCESS);
        EXPECT_EQ(taken(cuda), before);
        const CUdeviceptr pointer = reserve(cuda, 64 * kGiB);
        EXPECT_EQ(taken(cuda), before) << "addresses are cheap";
        EXPECT_EQ(CALL(cuda, cuMemAddressFree)(pointer, 64 * kGiB), CUDA_SUCCESS);
    });
}

TEST_F(ConformingVirtualMemory, IsRefusedWhereTheGpuHasNone) {
    where_there_is_some([](const Library& cuda) {
        size_t total = 0;
        ASSERT_EQ(CALL(cuda, cuDeviceTotalMem_v2)(&total, 0), CUDA_SUCCESS);
        const CUmemAllocationProp properties = on_device();
        CUmemGenericAllocationHandle handle = 0;
        const std::size_t too_much = total / (2 * kMiB) * 2 * kMiB + 64 * kMiB;
        EXPECT_EQ(CALL(cuda, cuMemCreate)(&handle, too_much, &properties, 0),
                  CUDA_ERROR_OUT_OF_MEMORY);
    });
}

TEST_F(ConformingVirtualMemory, LivesWhileAHandleOrAMappingDoes) {
    where_there_is_some([](const Library& cuda) {
        const CUdeviceptr pointer = reserve(cuda, 2 * kBytes);
        const std::uint64_t before = taken(cuda);
        const auto handle = create(cuda);
        ASSERT_EQ(CALL(cuda, cuMemMap)(pointer, kBytes, 0, handle, 0), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuMemMap)(pointer + kBytes, kBytes, 0, handle, 0), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuMemSetAccess)(pointer, 2 * kBytes, &kReadWrite, 1), CUDA_SUCCESS);
        EXPECT_EQ(taken(cuda), before + kBytes) << "mapped twice, there once";
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(pointer + 5, 'a', 1), CUDA_SUCCESS);
        char seen = 0;
        EXPECT_EQ(CALL(cuda, cuMemcpyDtoH_v2)(&seen, pointer + kBytes + 5, 1), CUDA_SUCCESS);
        EXPECT_EQ(seen, 'a');

        EXPECT_EQ(CALL(cuda, cuMemRelease)(handle), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemUnmap)(pointer, kBytes), CUDA_SUCCESS);
        EXPECT_EQ(taken(cuda), before + kBytes) << "the other mapping keeps it";
        EXPECT_EQ(CALL(cuda, cuMemUnmap)(pointer + kBytes, kBytes), CUDA_SUCCESS);
        EXPECT_EQ(taken(cuda), before);
        EXPECT_EQ(CALL(cuda, cuMemAddressFree)(pointer, 2 * kBytes), CUDA_SUCCESS);
    });
}

TEST_F(ConformingVirtualMemory, ContentOutlivesAMapping) {
    where_there_is_some([](const Library& cuda) {
        const CUdeviceptr pointer = reserve(cuda, kBytes);
        const auto kept = create(cuda);
        for (int round = 0; round < 2; round++) {
            ASSERT_EQ(CALL(cuda, cuMemMap)(pointer, kBytes, 0, kept, 0), CUDA_SUCCESS);
            ASSERT_EQ(CALL(cuda, cuMemSetAccess)(pointer, kBytes, &kReadWrite, 1), CUDA_SUCCESS);
            char byte = 'b';
            if (round == 0) {
                EXPECT_EQ(CALL(cuda, cuMemcpyHtoD_v2)(pointer, &byte, 1), CUDA_SUCCESS);
            }
            EXPECT_EQ(CALL(cuda, cuMemcpyDtoH_v2)(&byte, pointer, 1), CUDA_SUCCESS);
            EXPECT_EQ(byte, 'b');
            ASSERT_EQ(CALL(cuda, cuMemUnmap)(pointer, kBytes), CUDA_SUCCESS);
        }
        EXPECT_EQ(CALL(cuda, cuMemRelease)(kept), CUDA_SUCCESS);
    });
}

TEST_F(ConformingVirtualMemory, AccessIsTold) {
    where_there_is_some([](const Library& cuda) {
        const CUdeviceptr pointer = reserve(cuda, kBytes);
        const CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
        unsigned long long flags = 9;
        ASSERT_EQ(CALL(cuda, cuMemMap)(pointer, kBytes, 0, create(cuda), 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemGetAccess)(&flags, &here, pointer), CUDA_SUCCESS);
        EXPECT_EQ(flags, unsigned{CU_MEM_ACCESS_FLAGS_PROT_NONE});
        EXPECT_EQ(CALL(cuda, cuMemSetAccess)(pointer, kBytes, &kReadWrite, 1), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemGetAccess)(&flags, &here, pointer), CUDA_SUCCESS);
        EXPECT_EQ(flags, unsigned{CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
        EXPECT_EQ(CALL(cuda, cuMemUnmap)(pointer, kBytes), CUDA_SUCCESS);
    });
}

}  // namespace
}  // namespace gpusim
