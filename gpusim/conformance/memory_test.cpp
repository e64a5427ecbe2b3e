// Goal: memory by address, host memory, managed memory and arrays are as documented, and a GPU
// never gives more than it has.
#include <algorithm>
#include <string>

#include "gpusim/test_support/conformance.hpp"

namespace gpusim {
namespace {

class ConformingMemory : public Conformance {};

TEST_F(ConformingMemory, IsRefusedWhereTheGpuHasNone) {
    with_context([](const Library& cuda) {
        const auto alloc = CALL(cuda, cuMemAlloc_v2);
        CUdeviceptr pointer = 0;
        size_t total = 0;
        ASSERT_EQ(CALL(cuda, cuDeviceTotalMem_v2)(&total, 0), CUDA_SUCCESS);
        EXPECT_EQ(alloc(&pointer, total + 1), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(alloc(&pointer, total - taken(cuda) + 64 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(alloc(&pointer, kMiB), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemFree_v2)(pointer), CUDA_SUCCESS);
    });
}

// The guard's accounts rely on this unit.
TEST_F(ConformingMemory, IsTakenInWholeAllocationUnitsAndGivenBackAtOnce) {
    with_context([](const Library& cuda) {
        CUdeviceptr pointer = 0;
        for (const std::uint64_t bytes : {64 * kMiB, 64 * kMiB + 1, 3 * kMiB, kGiB}) {
            const std::uint64_t before = taken(cuda);
            ASSERT_EQ(CALL(cuda, cuMemAlloc_v2)(&pointer, bytes), CUDA_SUCCESS);
            EXPECT_EQ(taken(cuda) - before, (bytes + 2 * kMiB - 1) / (2 * kMiB) * 2 * kMiB)
                << bytes;
            EXPECT_EQ(CALL(cuda, cuMemFree_v2)(pointer), CUDA_SUCCESS);
            EXPECT_EQ(taken(cuda), before) << bytes;
        }
    });
}

TEST_F(ConformingMemory, SmallOnesShareAnAllocationUnit) {
    with_context([](const Library& cuda) {
        const std::uint64_t before = taken(cuda);
        std::vector<CUdeviceptr> pointers(1000);
        for (CUdeviceptr& pointer : pointers) {
            ASSERT_EQ(CALL(cuda, cuMemAlloc_v2)(&pointer, 1024), CUDA_SUCCESS);
            EXPECT_EQ(pointer % 256, 0U) << "aligned for any type";
        }
        EXPECT_LE(taken(cuda), before + 4 * kMiB);
        std::sort(pointers.begin(), pointers.end());
        for (std::size_t i = 1; i < pointers.size(); i++)
            EXPECT_GE(pointers[i] - pointers[i - 1], 1024U);
        for (const CUdeviceptr pointer : pointers)
            EXPECT_EQ(CALL(cuda, cuMemFree_v2)(pointer), CUDA_SUCCESS);
    });
}

TEST_F(ConformingMemory, RefusesWrongArguments) {
    with_context([](const Library& cuda) {
        CUdeviceptr pointer = 0;
        EXPECT_EQ(CALL(cuda, cuMemAlloc_v2)(&pointer, 0), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemAlloc_v2)(nullptr, 1), CUDA_ERROR_INVALID_VALUE);
        ASSERT_EQ(CALL(cuda, cuMemAlloc_v2)(&pointer, kMiB), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemFree_v2)(pointer + 256), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemFree_v2)(pointer), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemFree_v2)(pointer), CUDA_ERROR_INVALID_VALUE);
    });
}

TEST_F(ConformingMemory, IsCopied) {
    with_context([](const Library& cuda) {
        CUdeviceptr a = 0;
        CUdeviceptr b = 0;
        ASSERT_EQ(CALL(cuda, cuMemAlloc_v2)(&a, 1000), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuMemAlloc_v2)(&b, 1000), CUDA_SUCCESS);
        char out[1000] = {};
        const char in[] = "tessera";
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(a, 'x', 1000), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemcpyHtoD_v2)(a + 100, in, 7), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemcpyDtoD_v2)(b, a, 1000), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemcpyDtoH_v2)(out, b, 1000), CUDA_SUCCESS);
        EXPECT_EQ(std::string(out + 99, 9), "xtesserax");
        EXPECT_EQ(CALL(cuda, cuMemcpy)(a, b + 100, 7), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemcpy)(reinterpret_cast<CUdeviceptr>(out), a, 7), CUDA_SUCCESS);
        EXPECT_EQ(std::string(out, 7), "tessera");
    });
}

TEST_F(ConformingMemory, KnowsAddressRanges) {
    with_context([](const Library& cuda) {
        CUdeviceptr pointer = 0;
        CUdeviceptr base = 0;
        size_t bytes = 0;
        ASSERT_EQ(CALL(cuda, cuMemAlloc_v2)(&pointer, 3 * kMiB), CUDA_SUCCESS);
        const auto range = CALL(cuda, cuMemGetAddressRange_v2);
        EXPECT_EQ(range(&base, &bytes, pointer + 3 * kMiB - 1), CUDA_SUCCESS);
        EXPECT_EQ(base, pointer);
        EXPECT_EQ(bytes, 3 * kMiB);
        EXPECT_EQ(range(nullptr, nullptr, pointer), CUDA_SUCCESS);
        EXPECT_EQ(range(&base, &bytes, 4096), CUDA_ERROR_NOT_FOUND);
    });
}

TEST_F(ConformingMemory, APitchHoldsARowAndIsAligned) {
    with_context([](const Library& cuda) {
        const auto alloc = CALL(cuda, cuMemAllocPitch_v2);
        CUdeviceptr pointer = 0;
        size_t pitch = 0;
        ASSERT_EQ(alloc(&pointer, &pitch, 1000, 4096, 4), CUDA_SUCCESS);
        EXPECT_GE(pitch, 1000U);
        EXPECT_EQ(pitch % 32, 0U);
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(pointer, 1, pitch * 4096), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemFree_v2)(pointer), CUDA_SUCCESS);
        EXPECT_EQ(alloc(&pointer, &pitch, 1000, 4, 3), CUDA_ERROR_INVALID_VALUE) << "4, 8 or 16";
    });
}

TEST_F(ConformingMemory, OfTheHostTakesNothingAndIsAddressedByTheDevice) {
    with_context([](const Library& cuda) {
        void* host = nullptr;
        CUdeviceptr device = 0;
        unsigned flags = 0;
        const unsigned wanted = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_WRITECOMBINED;
        const std::uint64_t before = taken(cuda);
        ASSERT_EQ(CALL(cuda, cuMemHostAlloc)(&host, 64 * kMiB, wanted), CUDA_SUCCESS);
        EXPECT_LT(taken(cuda), before + 64 * kMiB);
        EXPECT_EQ(CALL(cuda, cuMemHostGetDevicePointer_v2)(&device, host, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(device, 'x', 64 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxSynchronize)(), CUDA_SUCCESS);
        EXPECT_EQ(static_cast<char*>(host)[64 * kMiB - 1], 'x');
        EXPECT_EQ(CALL(cuda, cuMemHostGetFlags)(&flags, host), CUDA_SUCCESS);
        EXPECT_EQ(flags & wanted, wanted) << "more may be set where all addresses are one space";
        EXPECT_EQ(CALL(cuda, cuMemFreeHost)(host), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemHostAlloc)(nullptr, 1, 0), CUDA_ERROR_INVALID_VALUE);
    });
}

TEST_F(ConformingMemory, OfTheHostIsRegisteredOnce) {
    with_context([](const Library& cuda) {
        std::vector<char> mine(10000);
        CUdeviceptr device = 0;
        const auto enter = CALL(cuda, cuMemHostRegister_v2);
        const auto leave = CALL(cuda, cuMemHostUnregister);
        ASSERT_EQ(enter(mine.data(), mine.size(), CU_MEMHOSTREGISTER_DEVICEMAP), CUDA_SUCCESS);
        EXPECT_EQ(enter(mine.data(), 10, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
        EXPECT_EQ(CALL(cuda, cuMemHostGetDevicePointer_v2)(&device, mine.data(), 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(device, 'y', 10000), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxSynchronize)(), CUDA_SUCCESS);
        EXPECT_EQ(mine[9999], 'y');
        EXPECT_EQ(leave(mine.data()), CUDA_SUCCESS);
        EXPECT_EQ(leave(mine.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    });
}

// Only a little memory: a driver may hang if managed memory is more than the GPU has free.
TEST_F(ConformingMemory, ManagedIsBothsToUse) {
    with_context([](const Library& cuda) {
        if (!supports(cuda, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY)) return;
        const auto alloc = CALL(cuda, cuMemAllocManaged);
        CUdeviceptr pointer = 0;
        ASSERT_EQ(alloc(&pointer, 4 * kMiB, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
        static_cast<char*>(as_pointer(pointer))[0] = 'h';
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(pointer + 1, 'd', 1), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxSynchronize)(), CUDA_SUCCESS);
        EXPECT_EQ(std::string(static_cast<char*>(as_pointer(pointer)), 2), "hd");
        EXPECT_EQ(CALL(cuda, cuMemFree_v2)(pointer), CUDA_SUCCESS);
        EXPECT_EQ(alloc(&pointer, kMiB, 0), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(alloc(&pointer, 0, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
    });
}

TEST_F(ConformingMemory, AnAddressTellsWhatIsBehindIt) {
    with_context([](const Library& cuda) {
        CUdeviceptr device = 0;
        void* host = nullptr;
        CUcontext context = nullptr;
        ASSERT_EQ(CALL(cuda, cuCtxGetCurrent)(&context), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuMemAlloc_v2)(&device, 5000), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuMemAllocHost_v2)(&host, 5000), CUDA_SUCCESS);
        const auto ask = CALL(cuda, cuPointerGetAttribute);
        unsigned type = 0;
        CUcontext of = nullptr;
        CUdeviceptr start = 0;
        EXPECT_EQ(ask(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device + 4000), CUDA_SUCCESS);
        EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_DEVICE});
        EXPECT_EQ(ask(&of, CU_POINTER_ATTRIBUTE_CONTEXT, device + 4000), CUDA_SUCCESS);
        EXPECT_EQ(of, context);
        EXPECT_EQ(ask(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, device + 4000), CUDA_SUCCESS);
        EXPECT_EQ(start, device);
        const auto at_host = reinterpret_cast<CUdeviceptr>(host);
        EXPECT_EQ(ask(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at_host), CUDA_SUCCESS);
        EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_HOST});
        EXPECT_EQ(ask(&of, CU_POINTER_ATTRIBUTE_CONTEXT, 4096), CUDA_ERROR_INVALID_VALUE);
    });
}

TEST_F(ConformingMemory, ArraysHaveTheirShape) {
    with_context([](const Library& cuda) {
        const CUDA_ARRAY_DESCRIPTOR wanted = {4096, 4096, CU_AD_FORMAT_UNSIGNED_INT8, 4};
        CUarray array = nullptr;
        const std::uint64_t before = taken(cuda);
        ASSERT_EQ(CALL(cuda, cuArrayCreate_v2)(&array, &wanted), CUDA_SUCCESS);
        EXPECT_GE(taken(cuda), before + 64 * kMiB);
        CUDA_ARRAY_DESCRIPTOR found = {};
        EXPECT_EQ(CALL(cuda, cuArrayGetDescriptor_v2)(&found, array), CUDA_SUCCESS);
        EXPECT_EQ(found.Width, 4096U);
        EXPECT_EQ(found.NumChannels, 4U);
        EXPECT_EQ(CALL(cuda, cuArrayDestroy)(array), CUDA_SUCCESS);
        EXPECT_EQ(taken(cuda), before);
        const CUDA_ARRAY3D_DESCRIPTOR cube = {
            64, 64, 5, CU_AD_FORMAT_FLOAT, 4, CUDA_ARRAY3D_CUBEMAP};
        EXPECT_EQ(CALL(cuda, cuArray3DCreate_v2)(&array, &cube), CUDA_ERROR_INVALID_VALUE)
            << "a cube has six sides";
    });
}

TEST_F(ConformingMemory, MipmapsHaveLevels) {
    with_context([](const Library& cuda) {
        const CUDA_ARRAY3D_DESCRIPTOR wanted = {512, 256, 0, CU_AD_FORMAT_FLOAT, 4, 0};
        CUmipmappedArray mipmap = nullptr;
        CUarray level = nullptr;
        CUDA_ARRAY3D_DESCRIPTOR found = {};
        ASSERT_EQ(CALL(cuda, cuMipmappedArrayCreate)(&mipmap, &wanted, 5), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuMipmappedArrayGetLevel)(&level, mipmap, 2), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuArray3DGetDescriptor_v2)(&found, level), CUDA_SUCCESS);
        EXPECT_EQ(found.Width, 128U);
        EXPECT_EQ(found.Height, 64U);
        EXPECT_EQ(CALL(cuda, cuMipmappedArrayDestroy)(mipmap), CUDA_SUCCESS);
    });
}

}  // namespace
}  // namespace gpusim
