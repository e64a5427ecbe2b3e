// Goal: only GPU memory is charged, wherever a pool or physical memory is said to be. Host memory
// of a pool takes nothing, also in the driver's own pools. Method: the facade in front of the
// simulated driver; its own count is compared after each step.
#include "gpusim/test_support/worker.hpp"
#include "guard/test_support/held_memory.hpp"

namespace tessera::guard {
namespace {

using gpusim::CudaProgram;
using gpusim::kGiB;
using gpusim::kMiB;
using gpusim::Library;

constexpr CUmemLocation kHost = {CU_MEM_LOCATION_TYPE_HOST, 0};
constexpr CUmemLocation kHostNode = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
constexpr CUmemLocation kDevice = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
constexpr CUmemLocation kPartOfDevice = {CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN, 0};
constexpr CUmemLocation kNowhere = {CU_MEM_LOCATION_TYPE_INVALID, 0};

class GuardHostPools : public HeldMemory {
  protected:
    static CUresult make(const CudaProgram& tenant, CUmemoryPool& pool, CUmemLocation location,
                         CUmemAllocationType type = CU_MEM_ALLOCATION_TYPE_PINNED) {
        CUmemPoolProps properties = {};
        properties.allocType = type;
        properties.location = location;
        return CALL(tenant.cuda, cuMemPoolCreate)(&pool, &properties);
    }
    static CUresult take(const CudaProgram& tenant, CUdeviceptr& pointer, std::uint64_t bytes,
                         CUmemoryPool pool) {
        return CALL(tenant.cuda, cuMemAllocFromPoolAsync)(&pointer, bytes, pool, nullptr);
    }
    // Takes more host memory than the share has.
    void expect_takes_nothing(CudaProgram& tenant, CUmemoryPool pool) const {
        CUdeviceptr small = 0;
        CUdeviceptr large = 0;
        const std::uint64_t free = tenant.free_bytes();
        EXPECT_EQ(take(tenant, small, 64 * kMiB, pool), CUDA_SUCCESS);
        EXPECT_EQ(take(tenant, large, 5 * kGiB, pool), CUDA_SUCCESS);
        EXPECT_EQ(tenant.free_bytes(), free);
        expect_held(kContext);
        EXPECT_EQ(CALL(tenant.cuda, cuMemFreeAsync)(small, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuMemFree_v2)(large), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuCtxSynchronize)(), CUDA_SUCCESS);
        expect_held(kContext);
    }
    // Takes GPU memory: the share is its limit.
    void expect_counts(CudaProgram& tenant, CUmemoryPool pool) const {
        CUdeviceptr pointer = 0;
        CUdeviceptr refused = 0;
        EXPECT_EQ(take(tenant, refused, 2 * kGiB, pool), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(take(tenant, pointer, 64 * kMiB, pool), CUDA_SUCCESS);
        expect_held(kContext + 64 * kMiB);
        EXPECT_EQ(CALL(tenant.cuda, cuMemFreeAsync)(pointer, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuCtxSynchronize)(), CUDA_SUCCESS);
        expect_held(kContext);
    }
};

TEST_F(GuardHostPools, ThatAProgramMakesTakeNothing) {
    for (const CUmemLocation& location : {kHost, kHostNode}) {
        in_tenant([&](CudaProgram& tenant) {
            CUmemoryPool pool = nullptr;
            EXPECT_EQ(make(tenant, pool, location), CUDA_SUCCESS);
            expect_takes_nothing(tenant, pool);
            EXPECT_EQ(CALL(tenant.cuda, cuMemPoolDestroy)(pool), CUDA_SUCCESS);
            EXPECT_EQ(CALL(tenant.cuda, cuMemPoolDestroy)(pool), CUDA_ERROR_INVALID_VALUE);
        });
    }
}

TEST_F(GuardHostPools, OfTheDriverTakeNothing) {
    for (CUmemLocation location : {kHost, kHostNode}) {
        in_tenant([&](CudaProgram& tenant) {
            CUmemoryPool pool = nullptr;
            CUmemoryPool current = nullptr;
            const auto type = CU_MEM_ALLOCATION_TYPE_PINNED;
            EXPECT_EQ(CALL(tenant.cuda, cuMemGetDefaultMemPool)(&pool, &location, type),
                      CUDA_SUCCESS);
            expect_takes_nothing(tenant, pool);
            EXPECT_EQ(CALL(tenant.cuda, cuMemGetMemPool)(&current, &location, type), CUDA_SUCCESS);
            EXPECT_EQ(current, pool);
        });
        in_tenant([&](CudaProgram& tenant) {
            CUmemoryPool pool = nullptr;
            CUmemoryPool current = nullptr;
            const auto type = CU_MEM_ALLOCATION_TYPE_PINNED;
            EXPECT_EQ(make(tenant, pool, location), CUDA_SUCCESS);
            EXPECT_EQ(CALL(tenant.cuda, cuMemSetMemPool)(&location, type, pool), CUDA_SUCCESS);
            EXPECT_EQ(CALL(tenant.cuda, cuMemGetMemPool)(&current, &location, type), CUDA_SUCCESS);
            EXPECT_EQ(current, pool);
            expect_takes_nothing(tenant, current);
        });
    }
}

// A driver of CUDA 13 reports where a pool is, also for a pool that the program got in a way that
// the guard does not know.
TEST_F(GuardHostPools, AreKnownByWhatTheDriverSaysOfThem) {
    namespace fs = std::filesystem;
    fs::copy_file(fs::canonical(TESSERA_BINARY_DIR "/gpusim/newer/libcuda.so.1"),
                  node_.library("libcuda.so.1"), fs::copy_options::overwrite_existing);
    in_tenant([this](CudaProgram& tenant) {
        const Library driver(node_.library("libcuda.so.1"));
        CUmemoryPool of_host = nullptr;
        CUmemoryPool managed = nullptr;
        CUmemLocation location = kHost;
        EXPECT_EQ(CALL(driver, cuMemGetDefaultMemPool)(&of_host, &location,
                                                       CU_MEM_ALLOCATION_TYPE_PINNED),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(driver, cuMemGetDefaultMemPool)(&managed, &location,
                                                       CU_MEM_ALLOCATION_TYPE_MANAGED),
                  CUDA_SUCCESS);
        expect_takes_nothing(tenant, of_host);
        expect_counts(tenant, managed);
    });
}

// Like memory of cuMemAllocManaged: all of it may be on the GPU.
TEST_F(GuardHostPools, OfManagedMemoryCountInFull) {
    for (CUmemLocation location : {kNowhere, kHost, kDevice}) {
        in_tenant([&](CudaProgram& tenant) {
            CUmemoryPool pool = nullptr;
            EXPECT_EQ(make(tenant, pool, location, CU_MEM_ALLOCATION_TYPE_MANAGED), CUDA_SUCCESS);
            expect_counts(tenant, pool);
            EXPECT_EQ(CALL(tenant.cuda, cuMemPoolDestroy)(pool), CUDA_SUCCESS);
            EXPECT_EQ(CALL(tenant.cuda, cuMemGetDefaultMemPool)(&pool, &location,
                                                                CU_MEM_ALLOCATION_TYPE_MANAGED),
                      CUDA_SUCCESS);
            expect_counts(tenant, pool);
        });
    }
}

TEST_F(GuardHostPools, OfAPartOfADeviceCount) {
    in_tenant([this](CudaProgram& tenant) {
        CUmemoryPool pool = nullptr;
        EXPECT_EQ(make(tenant, pool, kPartOfDevice), CUDA_SUCCESS);
        expect_counts(tenant, pool);
        CUmemLocation of_others = {CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN, 1};
        EXPECT_EQ(make(tenant, pool, of_others), CUDA_ERROR_OPERATING_SYSTEM);
    });
}

TEST_F(GuardHostPools, PhysicalMemoryOfAPartOfADeviceCounts) {
    in_tenant([this](CudaProgram& tenant) {
        CUmemAllocationProp properties = {};
        properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location = kPartOfDevice;
        CUmemGenericAllocationHandle handle = 0;
        const auto create = CALL(tenant.cuda, cuMemCreate);
        EXPECT_EQ(create(&handle, 2 * kGiB, &properties, 0), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(create(&handle, 64 * kMiB, &properties, 0), CUDA_SUCCESS);
        expect_held(kContext + 64 * kMiB);
        EXPECT_EQ(CALL(tenant.cuda, cuMemRelease)(handle), CUDA_SUCCESS);
        expect_held(kContext);
    });
}

TEST_F(GuardHostPools, AreNotSetWhileTheyEnd) {
    in_tenant([this](CudaProgram& tenant) {
        CUmemoryPool pool = nullptr;
        CUdeviceptr pointer = 0;
        CUmemLocation device = kDevice;
        EXPECT_EQ(make(tenant, pool, kDevice), CUDA_SUCCESS);
        EXPECT_EQ(take(tenant, pointer, 64 * kMiB, pool), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuMemPoolDestroy)(pool), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuMemSetMemPool)(&device, CU_MEM_ALLOCATION_TYPE_PINNED, pool),
                  CUDA_ERROR_INVALID_VALUE);
        expect_held(kContext + 64 * kMiB);
    });
}

}  // namespace
}  // namespace tessera::guard
