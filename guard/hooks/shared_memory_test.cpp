// Goal: memory that several processes of a container have counts once while any of them has it,
// whichever releases it or dies first. It does not count if another API made it. Method: the facade
// in front of the simulated driver; its own count is compared after each step.
#include "guard/region/shared_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>
#include <random>
#include <thread>
#include <vector>

#include "guard/test_support/sharing.hpp"

namespace tessera::guard {
namespace {

using gpusim::CudaProgram;
using gpusim::kMiB;

using GuardSharedMemory = HeldMemory;

TEST_F(GuardSharedMemory, ByIpcCountsOnceWithItsMaker) {
    const auto path = node_.root() / "handle";
    gpusim::ChildProcess maker([&](gpusim::Wire& wire) {
        CudaProgram tenant(container_.facade());
        CUipcMemHandle handle = {};
        EXPECT_EQ(tenant.allocate(300 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuIpcGetMemHandle)(&handle, tenant.pointers.front()),
                  CUDA_SUCCESS);
        std::ofstream(path, std::ios::binary).write(handle.reserved, sizeof handle);
        wire.send();
        wire.receive();
        EXPECT_EQ(tenant.free_last(), CUDA_SUCCESS);
    });
    EXPECT_EQ(maker.wire().receive(), 1U);
    in_tenant([&](CudaProgram& tenant) {
        CUipcMemHandle handle = {};
        CUdeviceptr pointer = 0;
        std::ifstream(path, std::ios::binary).read(handle.reserved, sizeof handle);
        for (const auto open :
             {CALL(tenant.cuda, cuIpcOpenMemHandle_v2), CALL(tenant.cuda, cuIpcOpenMemHandle)}) {
            EXPECT_EQ(open(&pointer, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), CUDA_SUCCESS);
            expect_held(2 * kContext + 300 * kMiB);
            EXPECT_EQ(CALL(tenant.cuda, cuIpcCloseMemHandle)(pointer), CUDA_SUCCESS);
            expect_held(2 * kContext + 300 * kMiB);
        }
    });
    maker.wire().send();
    EXPECT_EQ(maker.join(), 0);
    container_.region().reap();
    expect_held(0);
}

TEST_F(Sharing, AnIpcHandleThatOutlivesItsMakersFree) {
    const auto maker = ipc_maker(kBytes);
    in_tenant([&](CudaProgram& tenant) {
        CUdeviceptr pointer = 0;
        CUdeviceptr again = 0;
        EXPECT_EQ(open_ipc(tenant, pointer, ipc_handle()), CUDA_SUCCESS);
        EXPECT_EQ(open_ipc(tenant, again, ipc_handle()), CUDA_SUCCESS);
        tell(*maker);
        expect_held(2 * kContext + kBytes);
        EXPECT_EQ(tenant.allocate(600 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(CALL(tenant.cuda, cuIpcCloseMemHandle)(pointer), CUDA_SUCCESS);
        expect_held(2 * kContext + kBytes);
        EXPECT_EQ(CALL(tenant.cuda, cuIpcCloseMemHandle)(again), CUDA_SUCCESS);
        expect_held(2 * kContext);
        EXPECT_EQ(tenant.allocate(600 * kMiB), CUDA_SUCCESS);
    });
}

TEST_F(Sharing, AnIpcHandleThatOutlivesItsMaker) {
    auto maker = ipc_maker(kBytes);
    gpusim::ChildProcess importer([&](gpusim::Wire& wire) {
        CudaProgram tenant(container_.facade());
        CUdeviceptr pointer = 0;
        EXPECT_EQ(open_ipc(tenant, pointer, ipc_handle()), CUDA_SUCCESS);
        wire.send();
        wire.receive();
        EXPECT_EQ(tenant.allocate(700 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(CALL(tenant.cuda, cuIpcCloseMemHandle)(pointer), CUDA_SUCCESS);
        expect_held(kContext);
        EXPECT_EQ(tenant.allocate(700 * kMiB), CUDA_SUCCESS);
    });
    EXPECT_EQ(importer.wire().receive(), 1U);
    maker->kill_hard();
    container_.region().reap();
    expect_held(kContext + kBytes);
    importer.wire().send();
    EXPECT_EQ(importer.join(), 0);
    container_.region().reap();
    expect_held(0);
}

TEST_F(Sharing, AnImporterThatDiesHasLetGo) {
    const auto maker = ipc_maker(kBytes);
    gpusim::ChildProcess importer([&](gpusim::Wire& wire) {
        const CudaProgram tenant(container_.facade());
        CUdeviceptr pointer = 0;
        EXPECT_EQ(open_ipc(tenant, pointer, ipc_handle()), CUDA_SUCCESS);
        wire.send();
        wire.receive();
    });
    EXPECT_EQ(importer.wire().receive(), 1U);
    tell(*maker);
    expect_held(2 * kContext + kBytes);
    importer.kill_hard();
    container_.region().reap();
    expect_held(kContext);
}

TEST_F(Sharing, AnIpcHandleEndsWithTheContextThatOpenedIt) {
    const auto maker = ipc_maker(kBytes);
    in_tenant([&](CudaProgram& tenant) {
        CUdeviceptr pointer = 0;
        CUcontext second = nullptr;
        EXPECT_EQ(CALL(tenant.cuda, cuCtxCreate_v2)(&second, 0, 0), CUDA_SUCCESS);
        EXPECT_EQ(open_ipc(tenant, pointer, ipc_handle()), CUDA_SUCCESS);
        tell(*maker);
        expect_held(3 * kContext + kBytes);
        EXPECT_EQ(CALL(tenant.cuda, cuCtxDestroy_v2)(second), CUDA_SUCCESS);
        expect_held(2 * kContext);
    });
}

TEST_F(Sharing, SmallMemoryCountsAsTheAllocationUnitThatItKeeps) {
    const auto maker = ipc_maker(1000);
    expect_held(kContext + 2 * kMiB);
    in_tenant([&](CudaProgram& tenant) {
        CUdeviceptr pointer = 0;
        EXPECT_EQ(open_ipc(tenant, pointer, ipc_handle()), CUDA_SUCCESS);
        tell(*maker);
        expect_held(2 * kContext + 2 * kMiB);
        EXPECT_EQ(CALL(tenant.cuda, cuIpcCloseMemHandle)(pointer), CUDA_SUCCESS);
        expect_held(2 * kContext);
    });
}

TEST_F(Sharing, ManyRoundsLeaveNothingBehind) {
    for (int round = 0; round < 3 * kMaxSharedMemory / 1000; round++) {
        gpusim::ChildProcess maker([&](gpusim::Wire& wire) {
            CudaProgram tenant(container_.facade());
            for (int i = 0; i < 1000; i++) {
                CUipcMemHandle handle = {};
                EXPECT_EQ(tenant.allocate(2 * kMiB), CUDA_SUCCESS);
                EXPECT_EQ(CALL(tenant.cuda, cuIpcGetMemHandle)(&handle, tenant.pointers.back()),
                          CUDA_SUCCESS);
                EXPECT_EQ(tenant.free_last(), CUDA_SUCCESS);
            }
            wire.send();
        });
        EXPECT_EQ(maker.wire().receive(), 1U);
        EXPECT_EQ(maker.join(), 0);
    }
    container_.region().reap();
    expect_held(0);
}

// The maker's charge was released, and the driver has not noticed yet. Unused memory of pools makes
// room for it.
TEST_F(Sharing, AnIpcHandleThatNobodyIsChargedForIsAdopted) {
    const auto maker = ipc_maker(300 * kMiB);
    in_tenant([this](const CudaProgram& tenant) {
        CUmemoryPool pool = nullptr;
        std::uint64_t keep = ~std::uint64_t{0};
        EXPECT_EQ(CALL(tenant.cuda, cuDeviceGetDefaultMemPool)(&pool, 0), CUDA_SUCCESS);
        CALL(tenant.cuda, cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep);
        CUdeviceptr pointer = 0;
        EXPECT_EQ(CALL(tenant.cuda, cuMemAllocAsync)(&pointer, 500 * kMiB, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuMemFreeAsync)(pointer, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuCtxSynchronize)(), CUDA_SUCCESS);
        forget_shared_of(container_.region().accounts(), 0);
        clear(container_.region().accounts(), 0, 0);
        EXPECT_EQ(held_bytes(), kContext + 500 * kMiB);
        container_.limits().gpus[0].memory = units_of(700 * kMiB);
        EXPECT_EQ(open_ipc(tenant, pointer, ipc_handle()), CUDA_SUCCESS);
        EXPECT_EQ(held_bytes(), kContext + 300 * kMiB);
    });
}

TEST_F(Sharing, OneProcessIsAsMany) {
    in_tenant([&](CudaProgram& tenant) {
        CUmemGenericAllocationHandle mine = create(tenant);
        CUmemGenericAllocationHandle imported = 0;
        const int fd = exported(tenant, mine);
        const int second = exported(tenant, mine);
        EXPECT_EQ(import(tenant, second, imported), CUDA_SUCCESS);
        expect_held(kContext + kBytes);
        EXPECT_EQ(release(tenant, mine), CUDA_SUCCESS);
        expect_held(kContext + kBytes);
        CUmemGenericAllocationHandle again = 0;
        EXPECT_EQ(import(tenant, fd, again), CUDA_SUCCESS);
        EXPECT_EQ(release(tenant, imported), CUDA_SUCCESS);
        expect_held(kContext + kBytes);
        EXPECT_EQ(release(tenant, again), CUDA_SUCCESS);
        close(fd);
        expect_held(kContext + kBytes);
        close(second);
        EXPECT_EQ(tenant.allocate(900 * kMiB), CUDA_SUCCESS);
        expect_held(kContext + 900 * kMiB);
    });
}

// One thread exports a handle of memory that another frees. A third gets the same address again, by
// a call or in stream order.
TEST_F(Sharing, ThreadsThatExportWhatOthersFree) {
    in_tenant([&](CudaProgram& tenant) {
        constexpr int kThreads = 8;
        constexpr int kSteps = 1500;
        std::array<std::atomic<CUdeviceptr>, 6> places = {};
        const auto live = [&](unsigned seed) {
            std::mt19937 dice(seed);
            EXPECT_EQ(CALL(tenant.cuda, cuCtxSetCurrent)(tenant.context), CUDA_SUCCESS);
            for (int step = 0; step < kSteps; step++) {
                auto& place = places[dice() % places.size()];
                CUdeviceptr made = 0;
                CUipcMemHandle handle = {};
                if (dice() % 2 == 0) {
                    const CUdeviceptr there = place.load();
                    if (there != 0) CALL(tenant.cuda, cuIpcGetMemHandle)(&handle, there);
                    continue;
                }
                if (dice() % 2 == 0)
                    CALL(tenant.cuda, cuMemAlloc_v2)(&made, (1 + dice() % 4) * 2 * kMiB);
                const CUdeviceptr before = place.exchange(made);
                if (before == 0) continue;
                const CUresult freed = dice() % 4 == 0
                                           ? CALL(tenant.cuda, cuMemFreeAsync)(before, nullptr)
                                           : CALL(tenant.cuda, cuMemFree_v2)(before);
                EXPECT_EQ(freed, CUDA_SUCCESS);
            }
        };
        std::vector<std::thread> threads;
        for (unsigned seed = 0; seed < kThreads; seed++)
            threads.emplace_back(live, seed);
        for (std::thread& thread : threads)
            thread.join();
        for (const auto& place : places) {
            const CUdeviceptr left = place.load();
            EXPECT_TRUE(left == 0 || CALL(tenant.cuda, cuMemFree_v2)(left) == CUDA_SUCCESS);
        }
        EXPECT_EQ(CALL(tenant.cuda, cuCtxSynchronize)(), CUDA_SUCCESS);
        expect_held(kContext);
        for (const SharedMemory& entry : container_.region().accounts().shared_memory)
            EXPECT_FALSE(is_in_use(entry));
    });
}

// It is charged to its maker, in the maker's container.
TEST_F(Sharing, OfAnotherContainerCountsThere) {
    const GuardedContainer other(node_, {{0, gpusim::kGiB, kContext}});
    const auto maker = descriptor_maker();
    const int fd = pipe_.receive();
    gpusim::in_child([&] {
        const CudaProgram tenant(other.facade());
        CUmemGenericAllocationHandle handle = 0;
        EXPECT_EQ(import(tenant, fd, handle), CUDA_SUCCESS);
        EXPECT_EQ(held(other.region().accounts(), 0) * kAllocationUnitBytes, kContext);
        EXPECT_EQ(held_bytes(), kContext + kBytes);
    });
    close(fd);
}

TEST_F(GuardSharedMemory, OfAnotherApiTakesNothing) {
    in_tenant([&](CudaProgram& tenant) {
        const int fd = memfd_create("vulkan", MFD_CLOEXEC);
        ASSERT_EQ(ftruncate(fd, 2 * static_cast<off_t>(kMiB)), 0);
        CUDA_EXTERNAL_MEMORY_HANDLE_DESC descriptor = {};
        descriptor.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
        descriptor.handle.fd = fd;
        descriptor.size = 2 * kMiB;
        CUexternalMemory memory = nullptr;
        EXPECT_EQ(CALL(tenant.cuda, cuImportExternalMemory)(&memory, &descriptor), CUDA_SUCCESS);
        CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer = {};
        buffer.size = 2 * kMiB;
        CUdeviceptr pointer = 0;
        EXPECT_EQ(CALL(tenant.cuda, cuExternalMemoryGetMappedBuffer)(&pointer, memory, &buffer),
                  CUDA_SUCCESS);
        expect_held(kContext);
        EXPECT_EQ(CALL(tenant.cuda, cuMemFree_v2)(pointer), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuDestroyExternalMemory)(memory), CUDA_SUCCESS);
        expect_held(kContext);
    });
}

}  // namespace
}  // namespace tessera::guard
