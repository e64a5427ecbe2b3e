// Goal: exactly what pools have reserved of the GPU is charged, however and whenever memory is
// freed. A program within its share is not refused while a pool could release memory. Method: the
// facade in front of the simulated driver; its own count is compared after each step.
#include <thread>

#include "gpusim/test_support/worker.hpp"
#include "guard/test_support/held_memory.hpp"

namespace tessera::guard {
namespace {

using gpusim::CudaProgram;
using gpusim::in_child;
using gpusim::kGiB;
using gpusim::kMiB;
using gpusim::kMillisecond;
using gpusim::Worker;

constexpr auto kThreshold = CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;

CUmemoryPool default_pool(const CudaProgram& tenant) {
    CUmemoryPool pool = nullptr;
    EXPECT_EQ(CALL(tenant.cuda, cuDeviceGetDefaultMemPool)(&pool, 0), CUDA_SUCCESS);
    return pool;
}

CUmemoryPool make_pool(const CudaProgram& tenant, int device = 0) {
    CUmemPoolProps properties = {};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    CUmemoryPool pool = nullptr;
    EXPECT_EQ(CALL(tenant.cuda, cuMemPoolCreate)(&pool, &properties), CUDA_SUCCESS);
    return pool;
}

CUresult keep_all(const CudaProgram& tenant, CUmemoryPool pool) {
    cuuint64_t most = ~cuuint64_t{0};
    return CALL(tenant.cuda, cuMemPoolSetAttribute)(pool, kThreshold, &most);
}

CUresult alloc(const CudaProgram& tenant, CUdeviceptr& pointer, std::uint64_t bytes,
               CUstream stream = nullptr) {
    return CALL(tenant.cuda, cuMemAllocAsync)(&pointer, bytes, stream);
}

CUresult alloc_from(const CudaProgram& tenant, CUdeviceptr& pointer, std::uint64_t bytes,
                    CUmemoryPool pool) {
    return CALL(tenant.cuda, cuMemAllocFromPoolAsync)(&pointer, bytes, pool, nullptr);
}

CUresult free_async(const CudaProgram& tenant, CUdeviceptr pointer, CUstream stream = nullptr) {
    return CALL(tenant.cuda, cuMemFreeAsync)(pointer, stream);
}

CUresult wait(const CudaProgram& tenant, CUstream stream = nullptr) {
    return CALL(tenant.cuda, cuStreamSynchronize)(stream);
}

class GuardPools : public HeldMemory {
  protected:
    // Runs `body` in a process that can launch kernels.
    template <typename Body>
    void in_worker(Body body) {
        in_child([&] {
            const Worker worker(container_.facade());
            held_before_ = held_bytes();
            used_before_ = node_.used(0);
            body(worker);
        });
    }
    void expect_held_more(std::uint64_t bytes) const {
        EXPECT_EQ(held_bytes() - held_before_, bytes);
        EXPECT_EQ(node_.used(0) - used_before_, bytes) << "as the driver says";
    }

  private:
    std::uint64_t held_before_ = 0;
    std::uint64_t used_before_ = 0;
};

TEST_F(GuardPools, ExactToAnAllocationUnit) {
    in_tenant([&](CudaProgram& tenant) {
        CUdeviceptr first = 0;
        CUdeviceptr second = 0;
        EXPECT_EQ(alloc(tenant, first, 900 * kMiB + 1), CUDA_SUCCESS);
        expect_held(kContext + 902 * kMiB);
        EXPECT_EQ(alloc(tenant, second, 24 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(alloc(tenant, second, 22 * kMiB), CUDA_SUCCESS);
        expect_held(gpusim::kGiB);
        EXPECT_EQ(tenant.allocate(1), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(free_async(tenant, second), CUDA_SUCCESS);
        EXPECT_EQ(wait(tenant), CUDA_SUCCESS);
        expect_held(kContext + 902 * kMiB);
        EXPECT_EQ(alloc(tenant, second, 22 * kMiB), CUDA_SUCCESS);
    });
    EXPECT_EQ(container_.region().accounts().gpus[0].refusals.load(), 2U);
    container_.region().reap();
    expect_held(0);
}

TEST_F(GuardPools, SmallOnesShareWhatThePoolHas) {
    in_tenant([&](CudaProgram& tenant) {
        for (int i = 0; i < 100; i++) {
            CUdeviceptr pointer = 0;
            EXPECT_EQ(alloc(tenant, pointer, 100'000), CUDA_SUCCESS);
        }
        EXPECT_EQ(held_bytes(), node_.used(0));
        EXPECT_LE(held_bytes(), kContext + 10 * kMiB);
    });
}

TEST_F(GuardPools, WhatAPoolKeepsCountsAndIsHadAgain) {
    in_tenant([&](CudaProgram& tenant) {
        EXPECT_EQ(keep_all(tenant, default_pool(tenant)), CUDA_SUCCESS);
        CUdeviceptr pointer = 0;
        EXPECT_EQ(alloc(tenant, pointer, 900 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(free_async(tenant, pointer), CUDA_SUCCESS);
        EXPECT_EQ(wait(tenant), CUDA_SUCCESS);
        expect_held(kContext + 900 * kMiB);
        EXPECT_EQ(tenant.free_bytes(), 24 * kMiB);
        EXPECT_EQ(alloc(tenant, pointer, 800 * kMiB), CUDA_SUCCESS) << "from what it keeps";
        expect_held(kContext + 900 * kMiB);
        EXPECT_EQ(free_async(tenant, pointer), CUDA_SUCCESS);
        EXPECT_EQ(wait(tenant), CUDA_SUCCESS);
        EXPECT_EQ(tenant.allocate(500 * kMiB), CUDA_SUCCESS) << "it is trimmed for others";
        expect_held(kContext + 500 * kMiB);
        EXPECT_EQ(alloc(tenant, pointer, 424 * kMiB), CUDA_SUCCESS);
        expect_held(gpusim::kGiB);
    });
    EXPECT_EQ(container_.region().accounts().gpus[0].refusals.load(), 0U);
}

TEST_F(GuardPools, APoolThatIsPartlyUsedIsNotRefusedItsOwn) {
    in_tenant([&](CudaProgram& tenant) {
        CUdeviceptr large = 0;
        CUdeviceptr small = 0;
        EXPECT_EQ(keep_all(tenant, default_pool(tenant)), CUDA_SUCCESS);
        EXPECT_EQ(alloc(tenant, large, 900 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(free_async(tenant, large), CUDA_SUCCESS);
        EXPECT_EQ(alloc(tenant, small, kMiB), CUDA_SUCCESS) << "at its beginning";
        expect_held(kContext + 900 * kMiB);
        EXPECT_EQ(alloc(tenant, large, 890 * kMiB), CUDA_SUCCESS);
        expect_held(kContext + 900 * kMiB);
        EXPECT_EQ(alloc(tenant, large, 100 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
        expect_held(kContext + 900 * kMiB);
    });
}

TEST_F(GuardPools, AStreamMayHaveAgainWhatWasFreedInIt) {
    in_worker([&](const Worker& worker) {
        CUstream stream = worker.make_stream();
        CUstream other = worker.make_stream();
        CUdeviceptr pointer = 0;
        for (int i = 0; i < 5; i++) {
            EXPECT_EQ(alloc(worker, pointer, 600 * kMiB, stream), CUDA_SUCCESS);
            EXPECT_EQ(worker.launch(200 * kMillisecond, stream), CUDA_SUCCESS);
            EXPECT_EQ(free_async(worker, pointer, stream), CUDA_SUCCESS);
            expect_held_more(600 * kMiB);
        }
        EXPECT_EQ(alloc(worker, pointer, 600 * kMiB, other), CUDA_ERROR_OUT_OF_MEMORY)
            << "the stream has not reached the free";
        EXPECT_EQ(wait(worker, stream), CUDA_SUCCESS);
        expect_held_more(0);
        EXPECT_EQ(alloc(worker, pointer, 600 * kMiB, other), CUDA_SUCCESS);
    });
}

TEST_F(GuardPools, EitherMayFreeWhatTheOtherAllocated) {
    in_worker([&](const Worker& worker) {
        CUdeviceptr pooled = 0;
        CUdeviceptr plain = 0;
        CUstream stream = worker.make_stream();
        EXPECT_EQ(alloc(worker, pooled, 10 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(CALL(worker.cuda, cuMemAlloc_v2)(&plain, 20 * kMiB), CUDA_SUCCESS);
        expect_held_more(30 * kMiB);
        EXPECT_EQ(CALL(worker.cuda, cuMemFree_v2)(pooled), CUDA_SUCCESS);
        EXPECT_EQ(worker.launch(100 * kMillisecond, stream), CUDA_SUCCESS);
        EXPECT_EQ(free_async(worker, plain, stream), CUDA_SUCCESS);
        expect_held_more(30 * kMiB);
        EXPECT_EQ(wait(worker, stream), CUDA_SUCCESS);
        expect_held_more(0);
    });
}

TEST_F(GuardPools, ADestroyedPoolCountsUntilItIsEmpty) {
    in_tenant([&](CudaProgram& tenant) {
        const CUmemoryPool pool = make_pool(tenant);
        CUdeviceptr first = 0;
        CUdeviceptr second = 0;
        EXPECT_EQ(CALL(tenant.cuda, cuDeviceSetMemPool)(0, pool), CUDA_SUCCESS);
        EXPECT_EQ(alloc(tenant, first, 100 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(alloc_from(tenant, second, 200 * kMiB, pool), CUDA_SUCCESS);
        EXPECT_EQ(free_async(tenant, first), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuMemPoolDestroy)(pool), CUDA_SUCCESS);
        expect_held(kContext + 200 * kMiB);
        EXPECT_EQ(CALL(tenant.cuda, cuMemPoolDestroy)(pool), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(alloc_from(tenant, first, kMiB, pool), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(tenant.cuda, cuDeviceSetMemPool)(0, pool), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(keep_all(tenant, pool), CUDA_ERROR_INVALID_VALUE);
        CUmemoryPool current = nullptr;
        EXPECT_EQ(CALL(tenant.cuda, cuDeviceGetMemPool)(&current, 0), CUDA_SUCCESS);
        EXPECT_EQ(current, default_pool(tenant));
        EXPECT_EQ(free_async(tenant, second), CUDA_SUCCESS);
        EXPECT_EQ(wait(tenant), CUDA_SUCCESS);
        expect_held(kContext);
        EXPECT_EQ(CALL(tenant.cuda, cuMemPoolDestroy)(default_pool(tenant)),
                  CUDA_ERROR_INVALID_VALUE);
    });
}

TEST_F(GuardPools, EndWithTheContext) {
    in_tenant([&](CudaProgram& tenant) {
        CUdeviceptr pointer = 0;
        CUcontext second = nullptr;
        EXPECT_EQ(alloc(tenant, pointer, 50 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuCtxCreate_v2)(&second, 0, 0), CUDA_SUCCESS);
        EXPECT_EQ(alloc(tenant, pointer, 100 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(tenant.allocate(10 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(tenant.allocate(20 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(free_async(tenant, tenant.pointers.back()), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuCtxDestroy_v2)(second), CUDA_SUCCESS);
        expect_held(kContext + 50 * kMiB);
    });
}

TEST_F(GuardPools, WhatTheDriverRefusesIsPutBack) {
    in_tenant([&](CudaProgram& tenant) {
        CUdeviceptr pointer = 0;
        EXPECT_EQ(CALL(tenant.cuda, cuMemAllocAsync)(nullptr, kMiB, nullptr),
                  CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(alloc(tenant, pointer, 0), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(alloc_from(tenant, pointer, kMiB, nullptr), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(alloc(tenant, pointer, 10 * gpusim::kGiB), CUDA_ERROR_OUT_OF_MEMORY);
        expect_held(kContext);
        container_.limits().gpus[0].memory = units_of(64 * gpusim::kGiB);
        EXPECT_EQ(alloc(tenant, pointer, 9 * gpusim::kGiB), CUDA_ERROR_OUT_OF_MEMORY);
        expect_held(kContext);
        CUmemPoolProps properties = {};
        properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
        CUmemoryPool pool = nullptr;
        EXPECT_EQ(CALL(tenant.cuda, cuMemPoolCreate)(&pool, &properties),
                  CUDA_ERROR_OPERATING_SYSTEM)
            << "the container has no share of that GPU";
        EXPECT_EQ(CALL(tenant.cuda, cuDeviceGetDefaultMemPool)(&pool, 1), CUDA_SUCCESS);
        EXPECT_EQ(alloc_from(tenant, pointer, kMiB, pool), CUDA_ERROR_OPERATING_SYSTEM);
    });
}

// A stream that is not a default stream reports its own context.
TEST_F(GuardPools, WithoutACurrentContext) {
    in_tenant([&](CudaProgram& tenant) {
        CUstream stream = nullptr;
        EXPECT_EQ(CALL(tenant.cuda, cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
        std::thread([&] {
            CUdeviceptr pointer = 0;
            EXPECT_EQ(alloc(tenant, pointer, kMiB), CUDA_ERROR_INVALID_CONTEXT);
            EXPECT_EQ(alloc(tenant, pointer, 500 * kMiB, stream), CUDA_SUCCESS);
            expect_held(kContext + 500 * kMiB);
            CUdeviceptr more = 0;
            EXPECT_EQ(alloc(tenant, more, 500 * kMiB, stream), CUDA_ERROR_OUT_OF_MEMORY);
            EXPECT_EQ(free_async(tenant, pointer, stream), CUDA_SUCCESS);
            EXPECT_EQ(wait(tenant, stream), CUDA_SUCCESS);
        }).join();
        expect_held(kContext);
    });
}

TEST_F(GuardPools, InTheStreamOfAThread) {
    in_tenant([&](CudaProgram& tenant) {
        const auto take = CALL(tenant.cuda, cuMemAllocAsync_ptsz);
        const auto take_from = CALL(tenant.cuda, cuMemAllocFromPoolAsync_ptsz);
        CUdeviceptr first = 0;
        CUdeviceptr second = 0;
        EXPECT_EQ(take(&first, 500 * kMiB, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(take(&second, 500 * kMiB, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(take_from(&second, 400 * kMiB, make_pool(tenant), nullptr), CUDA_SUCCESS);
        expect_held(kContext + 900 * kMiB);
        EXPECT_EQ(take_from(&second, 400 * kMiB, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
        for (CUdeviceptr pointer : {first, second})
            EXPECT_EQ(CALL(tenant.cuda, cuMemFreeAsync_ptsz)(pointer, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuStreamSynchronize_ptsz)(nullptr), CUDA_SUCCESS);
        expect_held(kContext);
    });
}

// Memory of cuMemAlloc is freed behind a kernel. The guard queries whether the free is done. No
// capture of the program forbids that query, and no capture is invalidated by it.
TEST_F(GuardPools, WhatLeavesCountsWhileAnotherStreamIsCaptured) {
    in_worker([&](const Worker& worker) {
        CUdeviceptr pointer = 0;
        EXPECT_EQ(CALL(worker.cuda, cuMemAlloc_v2)(&pointer, 400 * kMiB), CUDA_SUCCESS);
        CUstream busy = worker.make_stream();
        EXPECT_EQ(worker.launch(500 * kMillisecond, busy), CUDA_SUCCESS);
        EXPECT_EQ(CALL(worker.cuda, cuMemFreeAsync)(pointer, busy), CUDA_SUCCESS);
        CUstream recorded = worker.make_stream();
        EXPECT_EQ(
            CALL(worker.cuda, cuStreamBeginCapture_v2)(recorded, CU_STREAM_CAPTURE_MODE_GLOBAL),
            CUDA_SUCCESS);
        std::size_t free = 0;
        std::size_t total = 0;
        EXPECT_EQ(CALL(worker.cuda, cuMemGetInfo_v2)(&free, &total), CUDA_SUCCESS);
        expect_held_more(400 * kMiB);
        EXPECT_EQ(worker.launch(kMillisecond, recorded), CUDA_SUCCESS);
        CUgraph graph = nullptr;
        EXPECT_EQ(CALL(worker.cuda, cuStreamEndCapture)(recorded, &graph), CUDA_SUCCESS);
        EXPECT_EQ(CALL(worker.cuda, cuStreamSynchronize)(busy), CUDA_SUCCESS);
        expect_held_more(0);
    });
}

TEST_F(GuardPools, WhoDiesGivesItBack) {
    gpusim::ChildProcess child([&](gpusim::Wire& wire) {
        const CudaProgram tenant(container_.facade());
        CUdeviceptr pointer = 0;
        EXPECT_EQ(alloc(tenant, pointer, 900 * kMiB), CUDA_SUCCESS);
        wire.send();
        wire.receive();
    });
    EXPECT_EQ(child.wire().receive(), 1U);
    child.kill_hard();
    in_tenant([](CudaProgram& tenant) {
        CUdeviceptr pointer = 0;
        EXPECT_EQ(alloc(tenant, pointer, 900 * kMiB), CUDA_SUCCESS);
    });
    container_.region().reap();
    expect_held(0);
}

// A pool's GPU may differ from that of the stream in which its memory is allocated.
TEST(GuardPoolsOfTwoGpus, CountOnTheirOwn) {
    const gpusim::SimulatedNode node(
        "gpus:\n"
        "  - {model: A, memory: 8GiB, context_overhead: 100MiB}\n"
        "  - {model: B, memory: 8GiB}\n");
    const GuardedContainer container(node, {{0, kGiB, 100 * kMiB}, {1, 200 * kMiB, 0}});
    const auto expect_held = [&](int gpu, std::uint64_t bytes) {
        EXPECT_EQ(held(container.region().accounts(), gpu) * kAllocationUnitBytes, bytes) << gpu;
        EXPECT_EQ(node.used(gpu), bytes) << gpu << ", as the driver says";
    };
    in_child([&] {
        const CudaProgram tenant(container.facade());
        CUmemoryPool of_the_other = nullptr;
        EXPECT_EQ(CALL(tenant.cuda, cuDeviceGetDefaultMemPool)(&of_the_other, 1), CUDA_SUCCESS);
        for (CUmemoryPool pool : {make_pool(tenant, 1), of_the_other}) {
            CUdeviceptr pointer = 0;
            CUdeviceptr more = 0;
            EXPECT_EQ(alloc_from(tenant, pointer, 100 * kMiB, pool), CUDA_SUCCESS);
            expect_held(0, kContext);
            expect_held(1, 100 * kMiB);
            EXPECT_EQ(alloc_from(tenant, more, 102 * kMiB, pool), CUDA_ERROR_OUT_OF_MEMORY);
            EXPECT_EQ(free_async(tenant, pointer), CUDA_SUCCESS);
            EXPECT_EQ(wait(tenant), CUDA_SUCCESS);
            expect_held(0, kContext);
            expect_held(1, 0);
        }
    });
}

}  // namespace
}  // namespace tessera::guard
