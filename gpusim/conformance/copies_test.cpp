// Goal: copies and fills of each shape move what the documentation says and nothing else, for every
// kind of source and target. The launches of CUDA 2 work.
#include <array>
#include <numeric>
#include <vector>

#include "gpusim/test_support/conformance.hpp"

namespace gpusim {
namespace {

using ConformingCopies = Conformance;

constexpr std::size_t kBytes = 4096;

std::vector<unsigned char> counted(std::size_t count = kBytes) {
    std::vector<unsigned char> bytes(count);
    std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(1));
    return bytes;
}

CUdeviceptr alloc(const Library& cuda, std::size_t bytes = kBytes) {
    CUdeviceptr pointer = 0;
    EXPECT_EQ(CALL(cuda, cuMemAlloc_v2)(&pointer, bytes), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(pointer, 0, bytes), CUDA_SUCCESS);
    return pointer;
}

std::vector<unsigned char> read(const Library& cuda, CUdeviceptr pointer,
                                std::size_t count = kBytes) {
    std::vector<unsigned char> bytes(count);
    EXPECT_EQ(CALL(cuda, cuCtxSynchronize)(), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuda, cuMemcpyDtoH_v2)(bytes.data(), pointer, count), CUDA_SUCCESS);
    return bytes;
}

CUarray make_array(const Library& cuda, std::size_t width, std::size_t height) {
    const CUDA_ARRAY_DESCRIPTOR wanted = {width, height, CU_AD_FORMAT_UNSIGNED_INT8, 1};
    CUarray array = nullptr;
    EXPECT_EQ(CALL(cuda, cuArrayCreate_v2)(&array, &wanted), CUDA_SUCCESS);
    return array;
}

TEST_F(ConformingCopies, ARectangleOfRows) {
    with_context([](const Library& cuda) {
        const auto host = counted();
        const CUdeviceptr device = alloc(cuda);
        CUDA_MEMCPY2D_v2 copy = {};
        copy.srcMemoryType = CU_MEMORYTYPE_HOST;
        copy.srcHost = host.data();
        copy.srcPitch = 64;
        copy.srcXInBytes = 3;
        copy.srcY = 2;
        copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        copy.dstDevice = device;
        copy.dstPitch = 128;
        copy.dstXInBytes = 5;
        copy.dstY = 1;
        copy.WidthInBytes = 10;
        copy.Height = 4;
        for (const auto call : {CALL(cuda, cuMemcpy2D_v2), CALL(cuda, cuMemcpy2DUnaligned_v2)}) {
            EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(device, 0, kBytes), CUDA_SUCCESS);
            EXPECT_EQ(call(&copy), CUDA_SUCCESS);
            std::vector<unsigned char> wanted(kBytes);
            for (std::size_t y = 0; y < 4; y++)
                for (std::size_t x = 0; x < 10; x++)
                    wanted[(y + 1) * 128 + x + 5] = host[(y + 2) * 64 + x + 3];
            EXPECT_EQ(read(cuda, device), wanted);
        }
        copy.WidthInBytes = 126;
        EXPECT_NE(CALL(cuda, cuMemcpy2D_v2)(&copy), CUDA_SUCCESS) << "wider than its rows";
        EXPECT_NE(CALL(cuda, cuMemcpy2D_v2)(nullptr), CUDA_SUCCESS);
    });
}

TEST_F(ConformingCopies, ABox) {
    with_context([](const Library& cuda) {
        const auto host = counted();
        const CUdeviceptr device = alloc(cuda);
        CUstream stream = nullptr;
        EXPECT_EQ(CALL(cuda, cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
        CUDA_MEMCPY3D_v2 copy = {};
        copy.srcMemoryType = CU_MEMORYTYPE_HOST;
        copy.srcHost = host.data();
        copy.srcPitch = 16;
        copy.srcHeight = 8;
        copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        copy.dstDevice = device;
        copy.dstPitch = 32;
        copy.dstHeight = 4;
        copy.dstZ = 1;
        copy.WidthInBytes = 8;
        copy.Height = 3;
        copy.Depth = 2;
        EXPECT_EQ(CALL(cuda, cuMemcpy3DAsync_v2)(&copy, stream), CUDA_SUCCESS);
        std::vector<unsigned char> wanted(kBytes);
        for (std::size_t z = 0; z < 2; z++)
            for (std::size_t y = 0; y < 3; y++)
                for (std::size_t x = 0; x < 8; x++)
                    wanted[((z + 1) * 4 + y) * 32 + x] = host[(z * 8 + y) * 16 + x];
        EXPECT_EQ(read(cuda, device), wanted);
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(device, 0, kBytes), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemcpy3D_v2)(&copy), CUDA_SUCCESS);
        EXPECT_EQ(read(cuda, device), wanted);
    });
}

TEST_F(ConformingCopies, ToAndFromArrays) {
    with_context([](const Library& cuda) {
        const auto host = counted(100);
        const CUdeviceptr device = alloc(cuda, 100);
        CUarray line = make_array(cuda, 100, 0);
        CUarray other = make_array(cuda, 200, 0);
        std::vector<unsigned char> back(100);
        EXPECT_EQ(CALL(cuda, cuMemcpyHtoA_v2)(line, 0, host.data(), 100), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemcpyAtoA_v2)(other, 50, line, 0, 100), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemcpyAtoD_v2)(device, other, 50, 100), CUDA_SUCCESS);
        EXPECT_EQ(read(cuda, device, 100), host);
        EXPECT_EQ(CALL(cuda, cuMemcpyDtoA_v2)(line, 10, device, 90), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemcpyAtoH_v2)(back.data(), line, 0, 100), CUDA_SUCCESS);
        for (std::size_t i = 0; i < 100; i++)
            EXPECT_EQ(back[i], i < 10 ? host[i] : host[i - 10]);
        EXPECT_NE(CALL(cuda, cuMemcpyHtoA_v2)(line, 1, host.data(), 100), CUDA_SUCCESS);
    });
}

TEST_F(ConformingCopies, ARectangleOfAnArray) {
    with_context([](const Library& cuda) {
        const auto host = counted(100 * 20);
        CUarray array = make_array(cuda, 100, 20);
        std::vector<unsigned char> back(100 * 20);
        CUDA_MEMCPY2D_v2 copy = {};
        copy.srcMemoryType = CU_MEMORYTYPE_HOST;
        copy.srcHost = host.data();
        copy.srcPitch = 100;
        copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
        copy.dstArray = array;
        copy.WidthInBytes = 100;
        copy.Height = 20;
        EXPECT_EQ(CALL(cuda, cuMemcpy2D_v2)(&copy), CUDA_SUCCESS);
        CUDA_MEMCPY2D_v2 again = {};
        again.srcMemoryType = CU_MEMORYTYPE_ARRAY;
        again.srcArray = array;
        again.dstMemoryType = CU_MEMORYTYPE_HOST;
        again.dstHost = back.data();
        again.dstPitch = 100;
        again.WidthInBytes = 100;
        again.Height = 20;
        EXPECT_EQ(CALL(cuda, cuMemcpy2D_v2)(&again), CUDA_SUCCESS);
        EXPECT_EQ(back, host);
        again.srcY = 1;
        EXPECT_NE(CALL(cuda, cuMemcpy2D_v2)(&again), CUDA_SUCCESS) << "beyond its last row";
    });
}

TEST_F(ConformingCopies, BetweenContexts) {
    with_context([](const Library& cuda) {
        const auto host = counted();
        CUcontext first = nullptr;
        CUcontext second = nullptr;
        EXPECT_EQ(CALL(cuda, cuCtxGetCurrent)(&first), CUDA_SUCCESS);
        const CUdeviceptr from = alloc(cuda);
        EXPECT_EQ(CALL(cuda, cuMemcpyHtoD_v2)(from, host.data(), kBytes), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxCreate_v2)(&second, 0, 0), CUDA_SUCCESS);
        const CUdeviceptr to = alloc(cuda);
        EXPECT_EQ(CALL(cuda, cuMemcpyPeer)(to, second, from, first, kBytes), CUDA_SUCCESS);
        EXPECT_EQ(read(cuda, to), host);
        CUDA_MEMCPY3D_PEER_v1 copy = {};
        copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
        copy.srcDevice = from;
        copy.srcContext = first;
        copy.srcPitch = 64;
        copy.srcHeight = 1;
        copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        copy.dstDevice = to + 64;
        copy.dstContext = second;
        copy.dstPitch = 64;
        copy.dstHeight = 1;
        copy.WidthInBytes = 64;
        copy.Height = 1;
        copy.Depth = 1;
        EXPECT_EQ(CALL(cuda, cuMemcpy3DPeer)(&copy), CUDA_SUCCESS);
        EXPECT_EQ(read(cuda, to + 64, 64), counted(64));
    });
}

TEST_F(ConformingCopies, InABatch) {
    with_context([](const Library& cuda) {
        if (!cuda.has("cuMemcpyBatchAsync")) return;
        auto host = counted();
        const CUdeviceptr device = alloc(cuda);
        CUstream stream = nullptr;
        EXPECT_EQ(CALL(cuda, cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
        CUdeviceptr to[] = {device + 100, device};
        CUdeviceptr from[] = {reinterpret_cast<CUdeviceptr>(host.data()),
                              reinterpret_cast<CUdeviceptr>(host.data()) + 50};
        std::size_t bytes[] = {10, 20};
        CUmemcpyAttributes_v1 attributes = {};
        attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
        std::size_t index = 0;
        std::size_t failed = 0;
        EXPECT_EQ(CALL(cuda, cuMemcpyBatchAsync)(to, from, bytes, 2, &attributes, &index, 1,
                                                 &failed, stream),
                  CUDA_SUCCESS);
        std::vector<unsigned char> wanted(kBytes);
        std::copy_n(host.begin() + 50, 20, wanted.begin());
        std::copy_n(host.begin(), 10, wanted.begin() + 100);
        EXPECT_EQ(read(cuda, device), wanted);
        CUDA_MEMCPY3D_BATCH_OP_v1 box = {};
        box.src.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
        box.src.op.ptr.ptr = from[0];
        box.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
        box.dst.op.ptr.ptr = device;
        box.extent = {kBytes, 1, 1};
        box.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
        EXPECT_EQ(CALL(cuda, cuMemcpy3DBatchAsync)(1, &box, &failed, 0, stream), CUDA_SUCCESS);
        EXPECT_EQ(read(cuda, device), host);
    });
}

TEST_F(ConformingCopies, FillsOfEachWidth) {
    with_context([](const Library& cuda) {
        const CUdeviceptr device = alloc(cuda);
        std::vector<unsigned char> wanted(kBytes);
        EXPECT_EQ(CALL(cuda, cuMemsetD16_v2)(device, 0x0201, 3), CUDA_SUCCESS);
        for (std::size_t i = 0; i < 6; i++)
            wanted[i] = static_cast<unsigned char>(i % 2 + 1);
        EXPECT_EQ(CALL(cuda, cuMemsetD2D8_v2)(device + 64, 64, 7, 5, 2), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemsetD2D16_v2)(device + 256, 64, 0x0201, 2, 2), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemsetD2D32_v2)(device + 512, 64, 0x04030201, 1, 2), CUDA_SUCCESS);
        for (std::size_t y = 0; y < 2; y++) {
            for (std::size_t x = 0; x < 5; x++)
                wanted[64 + y * 64 + x] = 7;
            for (std::size_t x = 0; x < 4; x++) {
                wanted[256 + y * 64 + x] = static_cast<unsigned char>(x % 2 + 1);
                wanted[512 + y * 64 + x] = static_cast<unsigned char>(x + 1);
            }
        }
        EXPECT_EQ(read(cuda, device), wanted);
        EXPECT_NE(CALL(cuda, cuMemsetD16_v2)(device + 1, 1, 1), CUDA_SUCCESS) << "not aligned";
    });
}

TEST_F(ConformingCopies, ManagedMemoryIsMovedByHand) {
    with_context([](const Library& cuda) {
        if (!supports(cuda, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)) return;
        CUdeviceptr pointer = 0;
        CUdeviceptr plain = alloc(cuda);
        EXPECT_EQ(CALL(cuda, cuMemAllocManaged)(&pointer, kBytes, CU_MEM_ATTACH_GLOBAL),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemPrefetchAsync)(pointer, kBytes, 0, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemPrefetchAsync)(pointer, kBytes, CU_DEVICE_CPU, nullptr),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxSynchronize)(), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemPrefetchAsync)(plain, kBytes, 0, nullptr),
                  CUDA_ERROR_INVALID_VALUE);
    });
}

TEST_F(ConformingCopies, LaunchesOfCuda2) {
    in_worker([](const Worker& worker) {
        const Library& cuda = worker.cuda;
        if (!cuda.has("cuLaunchGrid")) return;
        std::uint64_t ns = 20 * kMillisecond;
        EXPECT_EQ(CALL(cuda, cuFuncSetBlockShape)(worker.spin, 1024, 1, 1), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuParamSetSize)(worker.spin, sizeof ns), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuParamSetv)(worker.spin, 0, &ns, sizeof ns), CUDA_SUCCESS);
        CUevent start = worker.mark();
        EXPECT_EQ(CALL(cuda, cuLaunch)(worker.spin), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuLaunchGrid)(worker.spin, 2, 1), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuLaunchGridAsync)(worker.spin, 2, 1, nullptr), CUDA_SUCCESS);
        EXPECT_GE(worker.ns_between(start, worker.mark()), 59 * kMillisecond);
    });
}

}  // namespace
}  // namespace gpusim
