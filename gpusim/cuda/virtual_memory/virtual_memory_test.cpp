// Goal: virtual memory management in one process behaves as documented: physical memory is taken
// when it is created and released with the last handle and the last mapping.
#include <cstring>

#include "gpusim/test_support/cuda_test.hpp"

namespace gpusim {
namespace {

constexpr CUmemAllocationProp on_device(int device) {
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    return properties;
}

constexpr CUmemAccessDesc access_of(int device, CUmemAccess_flags flags) {
    return {{CU_MEM_LOCATION_TYPE_DEVICE, device}, flags};
}

constexpr CUmemAccessDesc kReadWrite = access_of(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

class CudaVirtualMemory : public CudaTest {
  protected:
    static CUmemGenericAllocationHandle create(const Library& cuda, std::size_t bytes) {
        const CUmemAllocationProp properties = on_device(0);
        CUmemGenericAllocationHandle handle = 0;
        EXPECT_EQ(CALL(cuda, cuMemCreate)(&handle, bytes, &properties, 0), CUDA_SUCCESS);
        return handle;
    }
    static CUdeviceptr reserve(const Library& cuda, std::size_t bytes) {
        CUdeviceptr pointer = 0;
        EXPECT_EQ(CALL(cuda, cuMemAddressReserve)(&pointer, bytes, 0, 0, 0), CUDA_SUCCESS);
        return pointer;
    }
};

TEST_F(CudaVirtualMemory, SaysWhatItCan) {
    with_cuda([](const Library& cuda) {
        const CUmemAllocationProp properties = on_device(1);
        const struct {
            CUdevice_attribute attribute;
            int value;
        } rows[] = {{CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
                    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1},
                    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 0}};
        for (const auto& row : rows) {
            int value = -1;
            EXPECT_EQ(CALL(cuda, cuDeviceGetAttribute)(&value, row.attribute, 0), CUDA_SUCCESS);
            EXPECT_EQ(value, row.value) << row.attribute;
        }
        for (const auto option :
             {CU_MEM_ALLOC_GRANULARITY_MINIMUM, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED}) {
            size_t granularity = 0;
            EXPECT_EQ(CALL(cuda, cuMemGetAllocationGranularity)(&granularity, &properties, option),
                      CUDA_SUCCESS);
            EXPECT_EQ(granularity, 2 * kMiB);
        }
    });
}

TEST_F(CudaVirtualMemory, CreateTakesAndReleaseGivesBack) {
    with_cuda([this](const Library& cuda) {
        const auto handle = create(cuda, 64 * kMiB);
        EXPECT_EQ(node_.used(0), 64 * kMiB) << "without a context, a reservation or a mapping";
        const CUmemAllocationProp properties = on_device(0);
        CUmemGenericAllocationHandle more = 0;
        EXPECT_EQ(CALL(cuda, cuMemCreate)(&more, kGiB, &properties, 0), CUDA_ERROR_OUT_OF_MEMORY);
        CUmemAllocationProp found = {};
        EXPECT_EQ(CALL(cuda, cuMemGetAllocationPropertiesFromHandle)(&found, handle), CUDA_SUCCESS);
        EXPECT_EQ(found.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
        EXPECT_EQ(found.location.id, 0);
        EXPECT_EQ(CALL(cuda, cuMemRelease)(handle), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U);
        EXPECT_EQ(CALL(cuda, cuMemRelease)(handle), CUDA_ERROR_INVALID_VALUE);
    });
}

TEST_F(CudaVirtualMemory, RefusesWrongProperties) {
    with_cuda([](const Library& cuda) {
        const auto make = CALL(cuda, cuMemCreate);
        CUmemGenericAllocationHandle handle = 0;
        CUmemAllocationProp properties = on_device(0);
        EXPECT_EQ(make(&handle, kMiB, &properties, 0), CUDA_ERROR_INVALID_VALUE) << "granularity";
        EXPECT_EQ(make(&handle, 0, &properties, 0), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(make(&handle, 2 * kMiB, &properties, 1), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(make(&handle, 2 * kMiB, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
        properties.location.id = 2;
        EXPECT_EQ(make(&handle, 2 * kMiB, &properties, 0), CUDA_ERROR_INVALID_DEVICE);
        for (const auto type : {CU_MEM_LOCATION_TYPE_HOST, CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT,
                                CU_MEM_LOCATION_TYPE_INVALID}) {
            properties.location = {type, 0};
            EXPECT_EQ(make(&handle, 2 * kMiB, &properties, 0), CUDA_ERROR_INVALID_VALUE) << type;
        }
        properties = on_device(0);
        properties.type = CU_MEM_ALLOCATION_TYPE_INVALID;
        EXPECT_EQ(make(&handle, 2 * kMiB, &properties, 0), CUDA_ERROR_INVALID_VALUE);
        properties = on_device(0);
        properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
        EXPECT_EQ(make(&handle, 2 * kMiB, &properties, 0), CUDA_ERROR_NOT_SUPPORTED);
    });
}

TEST_F(CudaVirtualMemory, HostMemoryTakesNothing) {
    with_context([this](const Library& cuda) {
        CUmemAllocationProp properties = on_device(0);
        properties.location = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
        CUmemGenericAllocationHandle handle = 0;
        ASSERT_EQ(CALL(cuda, cuMemCreate)(&handle, 4 * kMiB, &properties, 0), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U);
        const CUdeviceptr pointer = reserve(cuda, 4 * kMiB);
        const CUmemAccessDesc both[] = {
            kReadWrite, {{CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
        ASSERT_EQ(CALL(cuda, cuMemMap)(pointer, 4 * kMiB, 0, handle, 0), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuMemSetAccess)(pointer, 4 * kMiB, both, 2), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(pointer, 1, 4 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U);
    });
}

TEST_F(CudaVirtualMemory, LivesWhileAHandleOrAMappingDoes) {
    with_context([this](const Library& cuda) {
        const CUdeviceptr pointer = reserve(cuda, 8 * kMiB);
        auto handle = create(cuda, 4 * kMiB);
        ASSERT_EQ(CALL(cuda, cuMemMap)(pointer, 4 * kMiB, 0, handle, 0), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuMemMap)(pointer + 4 * kMiB, 4 * kMiB, 0, handle, 0), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuMemSetAccess)(pointer, 8 * kMiB, &kReadWrite, 1), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 4 * kMiB) << "mapped twice, there once";
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(pointer + 5, 'a', 1), CUDA_SUCCESS);
        char seen = 0;
        EXPECT_EQ(CALL(cuda, cuMemcpyDtoH_v2)(&seen, pointer + 4 * kMiB + 5, 1), CUDA_SUCCESS);
        EXPECT_EQ(seen, 'a');

        EXPECT_EQ(CALL(cuda, cuMemRelease)(handle), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemMap)(pointer, 4 * kMiB, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemUnmap)(pointer, 4 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 4 * kMiB);
        CUmemGenericAllocationHandle again = 0;
        void* inside = as_pointer(pointer + 5 * kMiB);
        ASSERT_EQ(CALL(cuda, cuMemRetainAllocationHandle)(&again, inside), CUDA_SUCCESS);
        EXPECT_EQ(again, handle);
        EXPECT_EQ(CALL(cuda, cuMemUnmap)(pointer + 4 * kMiB, 4 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 4 * kMiB) << "the retained handle keeps it";
        EXPECT_EQ(CALL(cuda, cuMemRetainAllocationHandle)(&again, inside),
                  CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemRelease)(handle), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U);
    });
}

TEST_F(CudaVirtualMemory, AddressesSurviveTheirMappings) {
    with_context([](const Library& cuda) {
        const CUdeviceptr pointer = reserve(cuda, 4 * kMiB);
        char byte = 'b';
        EXPECT_EQ(CALL(cuda, cuMemcpyHtoD_v2)(pointer, &byte, 1), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemcpy)(pointer, reinterpret_cast<CUdeviceptr>(&byte), 1),
                  CUDA_ERROR_INVALID_VALUE);
        const auto kept = create(cuda, 2 * kMiB);
        for (int round = 0; round < 2; round++) {
            ASSERT_EQ(CALL(cuda, cuMemMap)(pointer, 2 * kMiB, 0, kept, 0), CUDA_SUCCESS);
            EXPECT_EQ(CALL(cuda, cuMemMap)(pointer, 2 * kMiB, 0, kept, 0), CUDA_ERROR_INVALID_VALUE)
                << "it is mapped";
            EXPECT_EQ(CALL(cuda, cuMemcpyHtoD_v2)(pointer, &byte, 1), CUDA_ERROR_INVALID_VALUE)
                << "mappings start without access";
            ASSERT_EQ(CALL(cuda, cuMemSetAccess)(pointer, 2 * kMiB, &kReadWrite, 1), CUDA_SUCCESS);
            char seen = 0;
            EXPECT_EQ(CALL(cuda, cuMemcpyDtoH_v2)(&seen, pointer, 1), CUDA_SUCCESS);
            EXPECT_EQ(seen, round == 0 ? '\0' : 'b') << "content outlives a mapping";
            EXPECT_EQ(CALL(cuda, cuMemcpyHtoD_v2)(pointer, &byte, 1), CUDA_SUCCESS);
            EXPECT_EQ(CALL(cuda, cuMemAddressFree)(pointer, 4 * kMiB), CUDA_ERROR_INVALID_VALUE);
            EXPECT_EQ(CALL(cuda, cuMemFree_v2)(pointer), CUDA_ERROR_INVALID_VALUE);
            ASSERT_EQ(CALL(cuda, cuMemUnmap)(pointer, 2 * kMiB), CUDA_SUCCESS);
        }
        EXPECT_EQ(CALL(cuda, cuMemUnmap)(pointer, 2 * kMiB), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemAddressFree)(pointer, 2 * kMiB), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemAddressFree)(pointer, 4 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemAddressFree)(pointer, 4 * kMiB), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemMap)(pointer, 2 * kMiB, 0, kept, 0), CUDA_ERROR_INVALID_VALUE);
    });
}

// As an allocator with growing segments does it: one reservation, mapped piece by piece.
TEST_F(CudaVirtualMemory, SegmentsGrowAndAreUsedAsOne) {
    with_context([this](const Library& cuda) {
        constexpr std::size_t kPieces = 100;
        const CUdeviceptr pointer = reserve(cuda, kGiB);
        for (std::size_t i = 0; i < kPieces; i++) {
            const auto handle = create(cuda, 2 * kMiB);
            const CUdeviceptr part = pointer + i * 2 * kMiB;
            ASSERT_EQ(CALL(cuda, cuMemMap)(part, 2 * kMiB, 0, handle, 0), CUDA_SUCCESS);
            ASSERT_EQ(CALL(cuda, cuMemRelease)(handle), CUDA_SUCCESS);
        }
        const std::size_t all = kPieces * 2 * kMiB;
        EXPECT_EQ(node_.used(0), all);
        ASSERT_EQ(CALL(cuda, cuMemSetAccess)(pointer, all, &kReadWrite, 1), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(pointer + 1, 7, all - 1), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(pointer + 1, 7, all), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemUnmap)(pointer, 3 * kMiB), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemUnmap)(pointer + 4 * kMiB, 6 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), all - 6 * kMiB);
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(pointer, 7, 5 * kMiB), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemSetAccess)(pointer, all, &kReadWrite, 1),
                  CUDA_ERROR_INVALID_VALUE)
            << "not mapped as a whole";
    });
    EXPECT_EQ(node_.used(0), 0U);
}

TEST_F(CudaVirtualMemory, AccessIsPerLocation) {
    with_context([](const Library& cuda) {
        const auto set = CALL(cuda, cuMemSetAccess);
        const CUdeviceptr pointer = reserve(cuda, 2 * kMiB);
        ASSERT_EQ(CALL(cuda, cuMemMap)(pointer, 2 * kMiB, 0, create(cuda, 2 * kMiB), 0),
                  CUDA_SUCCESS);
        const CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
        unsigned long long flags = 9;
        EXPECT_EQ(CALL(cuda, cuMemGetAccess)(&flags, &here, pointer), CUDA_SUCCESS);
        EXPECT_EQ(flags, unsigned{CU_MEM_ACCESS_FLAGS_PROT_NONE});
        const CUmemAccessDesc reading = access_of(0, CU_MEM_ACCESS_FLAGS_PROT_READ);
        EXPECT_EQ(set(pointer, 2 * kMiB, &reading, 1), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemGetAccess)(&flags, &here, pointer), CUDA_SUCCESS);
        EXPECT_EQ(flags, unsigned{CU_MEM_ACCESS_FLAGS_PROT_READ});
        char byte = 0;
        EXPECT_EQ(CALL(cuda, cuMemcpyDtoH_v2)(&byte, pointer, 1), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(pointer, 1, 1), CUDA_ERROR_INVALID_VALUE);

        const CUmemAccessDesc peer = access_of(1, CU_MEM_ACCESS_FLAGS_PROT_READ);
        const CUmemAccessDesc missing = access_of(2, CU_MEM_ACCESS_FLAGS_PROT_READ);
        const CUmemAccessDesc host = {{CU_MEM_LOCATION_TYPE_HOST_NUMA, 0},
                                      CU_MEM_ACCESS_FLAGS_PROT_READ};
        EXPECT_EQ(set(pointer, 2 * kMiB, &peer, 1), CUDA_ERROR_NOT_SUPPORTED);
        EXPECT_EQ(set(pointer, 2 * kMiB, &missing, 1), CUDA_ERROR_INVALID_DEVICE);
        EXPECT_EQ(set(pointer, 2 * kMiB, &host, 1), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(set(pointer, 2 * kMiB, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemGetAccess)(&flags, &here, pointer + 2 * kMiB),
                  CUDA_ERROR_INVALID_VALUE);
    });
}

TEST_F(CudaVirtualMemory, ReservesAsAsked) {
    with_cuda([this](const Library& cuda) {
        const auto reserve = CALL(cuda, cuMemAddressReserve);
        CUdeviceptr pointer = 0;
        ASSERT_EQ(reserve(&pointer, 64 * kGiB, kGiB, 0, 0), CUDA_SUCCESS) << "addresses are cheap";
        EXPECT_EQ(pointer % kGiB, 0U);
        EXPECT_EQ(node_.used(0), 0U);
        EXPECT_EQ(CALL(cuda, cuMemAddressFree)(pointer, 64 * kGiB), CUDA_SUCCESS);
        EXPECT_EQ(reserve(&pointer, 100, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(reserve(&pointer, 0, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(reserve(&pointer, 4096, 3000, 0, 0), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(reserve(&pointer, 4096, 0, 0, 1), CUDA_ERROR_INVALID_VALUE);
    });
}

TEST_F(CudaVirtualMemory, OutlivesContexts) {
    with_cuda([this](const Library& cuda) {
        CUcontext context = nullptr;
        ASSERT_EQ(CALL(cuda, cuCtxCreate_v2)(&context, 0, 0), CUDA_SUCCESS);
        const CUdeviceptr pointer = reserve(cuda, 2 * kMiB);
        const auto handle = create(cuda, 2 * kMiB);
        ASSERT_EQ(CALL(cuda, cuMemMap)(pointer, 2 * kMiB, 0, handle, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxDestroy_v2)(context), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 2 * kMiB);
        EXPECT_EQ(CALL(cuda, cuMemUnmap)(pointer, 2 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemRelease)(handle), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U);
    });
}

}  // namespace
}  // namespace gpusim
