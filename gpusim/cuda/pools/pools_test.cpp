// Goal: stream-ordered allocations and their pools behave as documented: what a pool keeps, what it
// releases and when, and which streams may use freed memory again.
#include <cstring>

#include "gpusim/test_support/cuda_test.hpp"
#include "gpusim/test_support/worker.hpp"

namespace gpusim {
namespace {

class CudaPools : public CudaTest {
  protected:
    template <class Body>
    void with_worker(Body body) const {
        in_child([&] {
            const Worker worker(library());
            free_at_first() = node_.used(0);
            body(worker);
        });
    }
    // Taken of the GPU, without the worker's module.
    std::uint64_t taken() const { return node_.used(0) - free_at_first(); }

    static CUmemoryPool default_pool(const Library& cuda) {
        CUmemoryPool pool = nullptr;
        EXPECT_EQ(CALL(cuda, cuDeviceGetDefaultMemPool)(&pool, 0), CUDA_SUCCESS);
        return pool;
    }
    static CUmemoryPool make_pool(const Library& cuda, std::size_t most = 0) {
        CUmemPoolProps properties = {};
        properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
        properties.maxSize = most;
        CUmemoryPool pool = nullptr;
        EXPECT_EQ(CALL(cuda, cuMemPoolCreate)(&pool, &properties), CUDA_SUCCESS);
        return pool;
    }
    static std::uint64_t get(const Library& cuda, CUmemoryPool pool, CUmemPool_attribute what) {
        cuuint64_t value = 0;
        EXPECT_EQ(CALL(cuda, cuMemPoolGetAttribute)(pool, what, &value), CUDA_SUCCESS);
        return value;
    }
    static CUresult set(const Library& cuda, CUmemoryPool pool, CUmemPool_attribute what,
                        cuuint64_t value) {
        return CALL(cuda, cuMemPoolSetAttribute)(pool, what, &value);
    }
    static CUdeviceptr alloc(const Library& cuda, std::size_t bytes, CUstream stream = nullptr) {
        CUdeviceptr pointer = 0;
        EXPECT_EQ(CALL(cuda, cuMemAllocAsync)(&pointer, bytes, stream), CUDA_SUCCESS);
        return pointer;
    }
    static void free(const Library& cuda, CUdeviceptr pointer, CUstream stream = nullptr) {
        EXPECT_EQ(CALL(cuda, cuMemFreeAsync)(pointer, stream), CUDA_SUCCESS);
    }

  private:
    static std::uint64_t& free_at_first() {
        static std::uint64_t bytes = 0;
        return bytes;
    }
};

constexpr auto kReserved = CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT;
constexpr auto kReservedHigh = CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH;
constexpr auto kUsed = CU_MEMPOOL_ATTR_USED_MEM_CURRENT;
constexpr auto kUsedHigh = CU_MEMPOOL_ATTR_USED_MEM_HIGH;
constexpr auto kThreshold = CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;

TEST_F(CudaPools, UnusedMemoryGoesBackAtTheNextSynchronization) {
    with_context([this](const Library& cuda) {
        const CUmemoryPool pool = default_pool(cuda);
        const CUdeviceptr pointer = alloc(cuda, 10 * kMiB);
        EXPECT_EQ(node_.used(0), 10 * kMiB);
        EXPECT_EQ(get(cuda, pool, kReserved), 10 * kMiB);
        EXPECT_EQ(get(cuda, pool, kUsed), 10 * kMiB);
        EXPECT_EQ(CALL(cuda, cuMemsetD8Async)(pointer, 1, 10 * kMiB, nullptr), CUDA_SUCCESS);
        free(cuda, pointer);
        EXPECT_EQ(node_.used(0), 10 * kMiB) << "the pool keeps it";
        EXPECT_EQ(CALL(cuda, cuStreamSynchronize)(nullptr), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U) << "the threshold is 0 at first";
        EXPECT_EQ(get(cuda, pool, kReserved), 0U);
        EXPECT_EQ(get(cuda, pool, kUsed), 0U);
        EXPECT_EQ(get(cuda, pool, kReservedHigh), 10 * kMiB);
        EXPECT_EQ(get(cuda, pool, kUsedHigh), 10 * kMiB);
        EXPECT_EQ(set(cuda, pool, kUsedHigh, 0), CUDA_SUCCESS);
        EXPECT_EQ(get(cuda, pool, kUsedHigh), 0U);
        EXPECT_EQ(set(cuda, pool, kUsedHigh, 1), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(set(cuda, pool, kUsed, 0), CUDA_ERROR_INVALID_VALUE);
    });
}

TEST_F(CudaPools, ThresholdKeepsMemory) {
    with_context([this](const Library& cuda) {
        const CUmemoryPool pool = default_pool(cuda);
        EXPECT_EQ(set(cuda, pool, kThreshold, UINT64_MAX), CUDA_SUCCESS);
        EXPECT_EQ(get(cuda, pool, kThreshold), UINT64_MAX);
        free(cuda, alloc(cuda, 10 * kMiB));
        free(cuda, alloc(cuda, 20 * kMiB));
        EXPECT_EQ(CALL(cuda, cuCtxSynchronize)(), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 30 * kMiB);
        EXPECT_EQ(get(cuda, pool, kUsed), 0U);
        const CUdeviceptr again = alloc(cuda, 15 * kMiB);
        EXPECT_EQ(node_.used(0), 30 * kMiB) << "out of what is there";
        EXPECT_EQ(CALL(cuda, cuMemPoolTrimTo)(pool, 25 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 30 * kMiB) << "at least that much stays";
        EXPECT_EQ(CALL(cuda, cuMemPoolTrimTo)(pool, 0), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 20 * kMiB) << "what is used stays";
        free(cuda, again);
        EXPECT_EQ(CALL(cuda, cuMemPoolTrimTo)(pool, 0), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U);
    });
}

TEST_F(CudaPools, SmallOnesShareAnAllocationUnit) {
    with_context([this](const Library& cuda) {
        std::vector<CUdeviceptr> pointers(100);
        for (CUdeviceptr& pointer : pointers)
            pointer = alloc(cuda, 1000);
        EXPECT_EQ(node_.used(0), 2 * kMiB);
        EXPECT_EQ(get(cuda, default_pool(cuda), kUsed), 100U * 1024);
        for (const CUdeviceptr pointer : pointers)
            free(cuda, pointer);
        EXPECT_EQ(CALL(cuda, cuCtxSynchronize)(), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U);
    });
}

TEST_F(CudaPools, FreeTakesItsTurn) {
    with_worker([this](const Worker& worker) {
        const Library& cuda = worker.cuda;
        const CUmemoryPool pool = default_pool(cuda);
        const CUstream stream = worker.make_stream();
        const CUdeviceptr pointer = alloc(cuda, 10 * kMiB, stream);
        EXPECT_EQ(worker.launch(50 * kMillisecond, stream), CUDA_SUCCESS);
        free(cuda, pointer, stream);
        EXPECT_EQ(get(cuda, pool, kUsed), 10 * kMiB) << "the kernel runs";
        EXPECT_EQ(CALL(cuda, cuMemFreeAsync)(pointer, stream), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemFree_v2)(pointer), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuStreamSynchronize)(stream), CUDA_SUCCESS);
        EXPECT_EQ(get(cuda, pool, kUsed), 0U);
        EXPECT_EQ(taken(), 0U);
    });
}

TEST_F(CudaPools, TheSameStreamHasFreedMemoryAtOnce) {
    with_worker([this](const Worker& worker) {
        const Library& cuda = worker.cuda;
        const CUstream stream = worker.make_stream();
        const CUdeviceptr pointer = alloc(cuda, 10 * kMiB, stream);
        for (int round = 0; round < 5; round++) {
            EXPECT_EQ(worker.launch(5 * kMillisecond, stream), CUDA_SUCCESS);
            free(cuda, pointer, stream);
            const CUdeviceptr again = alloc(cuda, 10 * kMiB, stream);
            EXPECT_EQ(again, pointer);
            EXPECT_EQ(taken(), 10 * kMiB) << "without waiting for anything";
        }
        EXPECT_EQ(CALL(cuda, cuStreamSynchronize)(stream), CUDA_SUCCESS);
        EXPECT_EQ(get(cuda, default_pool(cuda), kUsed), 10 * kMiB)
            << "the old frees no longer count";
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(pointer, 1, 10 * kMiB), CUDA_SUCCESS);
    });
}

TEST_F(CudaPools, OthersWaitForItBeforeThereIsNoMemory) {
    with_worker([this](const Worker& worker) {
        const Library& cuda = worker.cuda;
        const CUstream first = worker.make_stream();
        const CUstream second = worker.make_stream();
        const CUdeviceptr pointer = alloc(cuda, 600 * kMiB, first);
        EXPECT_EQ(worker.launch(50 * kMillisecond, first), CUDA_SUCCESS);
        free(cuda, pointer, first);
        const CUdeviceptr other = alloc(cuda, 600 * kMiB, second);
        EXPECT_EQ(other, pointer);
        EXPECT_EQ(CALL(cuda, cuStreamQuery)(second), CUDA_ERROR_NOT_READY)
            << "the stream waits for the kernel in the other";
        EXPECT_EQ(taken(), 600 * kMiB);
        CUdeviceptr more = 0;
        EXPECT_EQ(CALL(cuda, cuMemAllocAsync)(&more, 600 * kMiB, second), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(CALL(cuda, cuCtxSynchronize)(), CUDA_SUCCESS);
    });
}

TEST_F(CudaPools, FreesMayCross) {
    with_context([this](const Library& cuda) {
        CUdeviceptr plain = 0;
        ASSERT_EQ(CALL(cuda, cuMemAlloc_v2)(&plain, 10 * kMiB), CUDA_SUCCESS);
        free(cuda, plain);
        EXPECT_EQ(CALL(cuda, cuCtxSynchronize)(), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U);
        const CUdeviceptr pooled = alloc(cuda, 10 * kMiB);
        EXPECT_EQ(CALL(cuda, cuMemFree_v2)(pooled), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemFree_v2)(pooled), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(get(cuda, default_pool(cuda), kUsed), 0U);
        EXPECT_EQ(CALL(cuda, cuCtxSynchronize)(), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U);
        CUdeviceptr pointer = 0;
        EXPECT_EQ(CALL(cuda, cuMemAllocAsync)(&pointer, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemAllocAsync)(&pointer, 2 * kGiB, nullptr),
                  CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(CALL(cuda, cuMemFreeAsync)(4096, nullptr), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemAllocAsync_ptsz)(&pointer, 1, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemFreeAsync_ptsz)(pointer, nullptr), CUDA_SUCCESS);
    });
    EXPECT_EQ(node_.used(0), 0U);
}

TEST_F(CudaPools, ADestroyedOneIsNoDevicesCurrentOne) {
    with_context([this](const Library& cuda) {
        const CUmemoryPool mine = make_pool(cuda);
        CUmemoryPool now = nullptr;
        EXPECT_EQ(CALL(cuda, cuDeviceSetMemPool)(1, mine), CUDA_ERROR_INVALID_VALUE)
            << "of another device";
        EXPECT_EQ(CALL(cuda, cuDeviceSetMemPool)(0, mine), CUDA_SUCCESS);
        const CUdeviceptr pointer = alloc(cuda, kMiB);
        EXPECT_EQ(CALL(cuda, cuMemPoolDestroy)(mine), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuDeviceGetMemPool)(&now, 0), CUDA_SUCCESS);
        EXPECT_EQ(now, default_pool(cuda));
        EXPECT_EQ(node_.used(0), 2 * kMiB) << "until its last allocation is freed";
        free(cuda, pointer);
        EXPECT_EQ(CALL(cuda, cuCtxSynchronize)(), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U);
        EXPECT_EQ(CALL(cuda, cuMemPoolDestroy)(mine), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemPoolDestroy)(default_pool(cuda)), CUDA_ERROR_INVALID_VALUE);
    });
}

TEST_F(CudaPools, KeepToTheirLimitAndTheirDevice) {
    with_context([](const Library& cuda) {
        const auto alloc_from = CALL(cuda, cuMemAllocFromPoolAsync);
        const CUmemoryPool pool = make_pool(cuda, 8 * kMiB);
        CUdeviceptr pointer = 0;
        EXPECT_EQ(alloc_from(&pointer, 6 * kMiB, pool, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(alloc_from(&pointer, 4 * kMiB, pool, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(alloc_from(&pointer, 2 * kMiB, pool, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(alloc_from(&pointer, 1, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);

        CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
        CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
        CUmemLocation there = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
        EXPECT_EQ(CALL(cuda, cuMemPoolGetAccess)(&flags, pool, &here), CUDA_SUCCESS);
        EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        EXPECT_EQ(CALL(cuda, cuMemPoolGetAccess)(&flags, pool, &there), CUDA_SUCCESS);
        EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
        const CUmemAccessDesc peer = {there, CU_MEM_ACCESS_FLAGS_PROT_READ};
        const CUmemAccessDesc own = {here, CU_MEM_ACCESS_FLAGS_PROT_NONE};
        EXPECT_EQ(CALL(cuda, cuMemPoolSetAccess)(pool, &peer, 1), CUDA_ERROR_NOT_SUPPORTED);
        EXPECT_EQ(CALL(cuda, cuMemPoolSetAccess)(pool, &own, 1), CUDA_ERROR_INVALID_VALUE);
        int flag = 0;
        EXPECT_EQ(CALL(cuda, cuMemPoolGetAttribute)(
                      pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &flag),
                  CUDA_SUCCESS);
        EXPECT_EQ(flag, 1);
    });
}

TEST_F(CudaPools, ContextsGiveBackTheirs) {
    with_cuda([this](const Library& cuda) {
        CUcontext context = nullptr;
        ASSERT_EQ(CALL(cuda, cuCtxCreate_v2)(&context, 0, 0), CUDA_SUCCESS);
        alloc(cuda, 10 * kMiB);
        free(cuda, alloc(cuda, 10 * kMiB));
        EXPECT_EQ(CALL(cuda, cuCtxDestroy_v2)(context), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U);
    });
}

TEST_F(CudaPools, OfTheHostTakeNothingOfTheGpu) {
    with_worker([this](const Worker& worker) {
        const Library& cuda = worker.cuda;
        const auto types = {CU_MEM_LOCATION_TYPE_HOST, CU_MEM_LOCATION_TYPE_HOST_NUMA};
        for (const CUmemLocationType type : types) {
            CUmemPoolProps properties = {};
            properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
            properties.location = {type, 0};
            CUmemoryPool pool = nullptr;
            CUmemoryPool found = nullptr;
            CUdeviceptr pointer = 0;
            unsigned kind = 0;
            EXPECT_EQ(CALL(cuda, cuMemPoolCreate)(&pool, &properties), CUDA_SUCCESS);
            EXPECT_EQ(CALL(cuda, cuMemAllocFromPoolAsync)(&pointer, 2 * kGiB, pool, nullptr),
                      CUDA_SUCCESS);
            EXPECT_EQ(taken(), 0U);
            EXPECT_EQ(get(cuda, pool, kReserved), 2 * kGiB);
            EXPECT_EQ(
                CALL(cuda, cuPointerGetAttribute)(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer),
                CUDA_SUCCESS);
            EXPECT_EQ(kind, unsigned{CU_MEMORYTYPE_HOST});
            std::memset(as_pointer(pointer), 1, 4096);
            free(cuda, pointer);
            EXPECT_EQ(CALL(cuda, cuMemSetMemPool)(&properties.location, properties.allocType, pool),
                      CUDA_SUCCESS);
            EXPECT_EQ(
                CALL(cuda, cuMemGetMemPool)(&found, &properties.location, properties.allocType),
                CUDA_SUCCESS);
            EXPECT_EQ(found, pool);
            EXPECT_EQ(CALL(cuda, cuMemPoolDestroy)(pool), CUDA_SUCCESS);
            EXPECT_EQ(CALL(cuda, cuMemGetDefaultMemPool)(&pool, &properties.location,
                                                         properties.allocType),
                      CUDA_SUCCESS);
            EXPECT_EQ(CALL(cuda, cuMemPoolDestroy)(pool), CUDA_ERROR_INVALID_VALUE);
        }
        CUmemPoolProps wrong = {};
        wrong.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        wrong.location = {CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0};
        CUmemoryPool pool = nullptr;
        EXPECT_EQ(CALL(cuda, cuMemPoolCreate)(&pool, &wrong), CUDA_ERROR_INVALID_VALUE);
    });
}

}  // namespace
}  // namespace gpusim
