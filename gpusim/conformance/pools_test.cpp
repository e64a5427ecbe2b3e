// Goal: stream-ordered allocations, and the pools that they come from, are as documented.
#include <thread>

#include "gpusim/test_support/conformance.hpp"

namespace gpusim {
namespace {

constexpr auto kReserved = CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT;
constexpr auto kUsed = CU_MEMPOOL_ATTR_USED_MEM_CURRENT;
constexpr auto kThreshold = CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
constexpr std::size_t kBytes = 64 * kMiB;

class ConformingPools : public Conformance {
  protected:
    template <class Body>
    void where_there_are_some(Body body, int line = __builtin_LINE()) const {
        in_worker(
            [&](const Worker& worker) {
                if (supports(worker.cuda, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)) body(worker);
            },
            line);
    }
    static CUmemoryPool default_pool(const Library& cuda) {
        CUmemoryPool pool = nullptr;
        EXPECT_EQ(CALL(cuda, cuDeviceGetDefaultMemPool)(&pool, 0), CUDA_SUCCESS);
        return pool;
    }
    // `line` is the caller's, for messages.
    static std::uint64_t get(const Library& cuda, CUmemoryPool pool, CUmemPool_attribute what,
                             int line = __builtin_LINE()) {
        cuuint64_t value = 0;
        EXPECT_EQ(CALL(cuda, cuMemPoolGetAttribute)(pool, what, &value), CUDA_SUCCESS)
            << "line " << line;
        return value;
    }
    static CUdeviceptr alloc(const Library& cuda, CUstream stream, int line = __builtin_LINE()) {
        CUdeviceptr pointer = 0;
        EXPECT_EQ(CALL(cuda, cuMemAllocAsync)(&pointer, kBytes, stream), CUDA_SUCCESS)
            << "line " << line;
        return pointer;
    }
};

TEST_F(ConformingPools, AStreamThatIsNamedNeedsNoCurrentContext) {
    where_there_are_some([](const Worker& worker) {
        const Library& cuda = worker.cuda;
        const CUstream stream = worker.make_stream();
        std::thread([&] {
            CUdeviceptr none = 0;
            EXPECT_EQ(CALL(cuda, cuMemAllocAsync)(&none, kBytes, nullptr),
                      CUDA_ERROR_INVALID_CONTEXT);
            const CUdeviceptr pointer = alloc(cuda, stream);
            EXPECT_EQ(CALL(cuda, cuMemFreeAsync)(pointer, stream), CUDA_SUCCESS);
        }).join();
    });
}

TEST_F(ConformingPools, UnusedMemoryGoesBackAtTheNextSynchronization) {
    where_there_are_some([](const Worker& worker) {
        const Library& cuda = worker.cuda;
        const CUmemoryPool pool = default_pool(cuda);
        const CUstream stream = worker.make_stream();
        const CUdeviceptr pointer = alloc(cuda, stream);
        EXPECT_GE(get(cuda, pool, kReserved), kBytes);
        EXPECT_EQ(get(cuda, pool, kUsed), kBytes);
        EXPECT_EQ(CALL(cuda, cuMemsetD8Async)(pointer, 1, kBytes, stream), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemFreeAsync)(pointer, stream), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuStreamSynchronize)(stream), CUDA_SUCCESS);
        EXPECT_EQ(get(cuda, pool, kUsed), 0U);
        EXPECT_EQ(get(cuda, pool, kReserved), 0U) << "the threshold is 0 at first";
    });
}

TEST_F(ConformingPools, AThresholdKeepsMemoryUntilItIsTrimmed) {
    where_there_are_some([](const Worker& worker) {
        const Library& cuda = worker.cuda;
        const CUmemoryPool pool = default_pool(cuda);
        const CUstream stream = worker.make_stream();
        cuuint64_t all = UINT64_MAX;
        EXPECT_EQ(CALL(cuda, cuMemPoolSetAttribute)(pool, kThreshold, &all), CUDA_SUCCESS);
        EXPECT_EQ(get(cuda, pool, kThreshold), UINT64_MAX);
        EXPECT_EQ(CALL(cuda, cuMemFreeAsync)(alloc(cuda, stream), stream), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuStreamSynchronize)(stream), CUDA_SUCCESS);
        EXPECT_GE(get(cuda, pool, kReserved), kBytes);
        EXPECT_EQ(get(cuda, pool, kUsed), 0U);
        EXPECT_EQ(CALL(cuda, cuMemPoolTrimTo)(pool, 0), CUDA_SUCCESS);
        EXPECT_EQ(get(cuda, pool, kReserved), 0U);
    });
}

TEST_F(ConformingPools, AFreeTakesItsTurn) {
    where_there_are_some([](const Worker& worker) {
        const Library& cuda = worker.cuda;
        const CUstream stream = worker.make_stream();
        const CUdeviceptr pointer = alloc(cuda, stream);
        EXPECT_EQ(worker.launch(100 * kMillisecond, stream), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemFreeAsync)(pointer, stream), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuStreamQuery)(stream), CUDA_ERROR_NOT_READY);
        EXPECT_EQ(CALL(cuda, cuStreamSynchronize)(stream), CUDA_SUCCESS);
        EXPECT_EQ(get(cuda, default_pool(cuda), kUsed), 0U);
    });
}

TEST_F(ConformingPools, MemoryOfAPoolMayBeFreedAtOnce) {
    where_there_are_some([](const Worker& worker) {
        const Library& cuda = worker.cuda;
        const CUdeviceptr pointer = alloc(cuda, nullptr);
        EXPECT_EQ(CALL(cuda, cuStreamSynchronize)(nullptr), CUDA_SUCCESS);
        // Driver 580.159.04 counts the memory as used for some time after this, also after the next
        // synchronization.
        EXPECT_EQ(CALL(cuda, cuMemFree_v2)(pointer), CUDA_SUCCESS);
    });
}

TEST_F(ConformingPools, DevicesHaveACurrentOne) {
    where_there_are_some([](const Worker& worker) {
        const Library& cuda = worker.cuda;
        CUmemPoolProps properties = {};
        properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
        CUmemoryPool mine = nullptr;
        CUmemoryPool now = nullptr;
        ASSERT_EQ(CALL(cuda, cuMemPoolCreate)(&mine, &properties), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuDeviceGetMemPool)(&now, 0), CUDA_SUCCESS);
        EXPECT_EQ(now, default_pool(cuda));
        EXPECT_EQ(CALL(cuda, cuDeviceSetMemPool)(0, mine), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuDeviceGetMemPool)(&now, 0), CUDA_SUCCESS);
        EXPECT_EQ(now, mine);
        const CUdeviceptr pointer = alloc(cuda, nullptr);
        EXPECT_EQ(get(cuda, mine, kUsed), kBytes);
        EXPECT_EQ(get(cuda, default_pool(cuda), kUsed), 0U);
        EXPECT_EQ(CALL(cuda, cuMemFreeAsync)(pointer, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxSynchronize)(), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemPoolDestroy)(mine), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuDeviceGetMemPool)(&now, 0), CUDA_SUCCESS);
        EXPECT_EQ(now, default_pool(cuda));
    });
}

}  // namespace
}  // namespace gpusim
