// Goal: memory that several processes of a container have counts once, as long as any of them has
// it, whoever lets go or dies first; and not at all where another API made it. Method: the facade
// before the simulated driver, whose own count is compared after each step.
#include "guard/region/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>
#include <random>
#include <thread>
#include <vector>

#include "gpusim/test_support/descriptor_pipe.hpp"
#include "guard/test_support/held_memory.hpp"

namespace tessera::guard {
namespace {

using gpusim::kMiB;
using gpusim::Tenant;

constexpr std::uint64_t kContext = 100 * kMiB;

using GuardSharedMemory = HeldMemory;

TEST_F(GuardSharedMemory, ByIpcCountsOnceWithItsMaker) {
    const auto path = node_.root() / "handle";
    gpusim::Peer maker([&](gpusim::Wire& wire) {
        Tenant tenant(container_.facade());
        CUipcMemHandle handle = {};
        EXPECT_EQ(tenant.take(300 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuIpcGetMemHandle)(&handle, tenant.pointers.front()),
                  CUDA_SUCCESS);
        std::ofstream(path, std::ios::binary).write(handle.reserved, sizeof handle);
        wire.send();
        wire.receive();
        EXPECT_EQ(tenant.give(), CUDA_SUCCESS);
    });
    EXPECT_EQ(maker.wire().receive(), 1U);
    in_tenant([&](Tenant& tenant) {
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

// A process that makes memory, gives it away, and does what it is told: 1 lets go, 2 ends.
class Sharing : public HeldMemory {
  protected:
    static constexpr std::uint64_t kBytes = 300 * kMiB;
    static constexpr auto kDescriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

    gpusim::DescriptorPipe pipe_;

    static CUmemGenericAllocationHandle create(const Tenant& tenant, std::uint64_t bytes = kBytes) {
        CUmemAllocationProp properties = {};
        properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.requestedHandleTypes = kDescriptor;
        properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
        CUmemGenericAllocationHandle handle = 0;
        EXPECT_EQ(CALL(tenant.cuda, cuMemCreate)(&handle, bytes, &properties, 0), CUDA_SUCCESS);
        return handle;
    }
    static int exported(const Tenant& tenant, CUmemGenericAllocationHandle handle) {
        int fd = -1;
        EXPECT_EQ(CALL(tenant.cuda, cuMemExportToShareableHandle)(&fd, handle, kDescriptor, 0),
                  CUDA_SUCCESS);
        return fd;
    }
    static CUresult import(const Tenant& tenant, int fd, CUmemGenericAllocationHandle& handle) {
        return CALL(tenant.cuda, cuMemImportFromShareableHandle)(
            &handle, gpusim::at(static_cast<CUdeviceptr>(fd)), kDescriptor);
    }
    static CUresult release(const Tenant& tenant, CUmemGenericAllocationHandle handle) {
        return CALL(tenant.cuda, cuMemRelease)(handle);
    }
    // Maps it somewhere.
    static CUdeviceptr map(const Tenant& tenant, CUmemGenericAllocationHandle handle) {
        CUdeviceptr pointer = 0;
        EXPECT_EQ(CALL(tenant.cuda, cuMemAddressReserve)(&pointer, kBytes, 0, 0, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuMemMap)(pointer, kBytes, 0, handle, 0), CUDA_SUCCESS);
        return pointer;
    }

    [[nodiscard]] std::filesystem::path handle_path() const { return node_.root() / "handle"; }
    [[nodiscard]] CUipcMemHandle ipc_handle() const {
        CUipcMemHandle handle = {};
        std::ifstream(handle_path(), std::ios::binary).read(handle.reserved, sizeof handle);
        return handle;
    }
    static CUresult open_ipc(const Tenant& tenant, CUdeviceptr& pointer,
                             const CUipcMemHandle& handle) {
        return CALL(tenant.cuda, cuIpcOpenMemHandle_v2)(&pointer, handle,
                                                        CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    }

    std::unique_ptr<gpusim::Peer> ipc_maker(std::uint64_t bytes) {
        auto maker = std::make_unique<gpusim::Peer>([this, bytes](gpusim::Wire& wire) {
            Tenant tenant(container_.facade());
            CUipcMemHandle handle = {};
            EXPECT_EQ(tenant.take(bytes), CUDA_SUCCESS);
            EXPECT_EQ(CALL(tenant.cuda, cuIpcGetMemHandle)(&handle, tenant.pointers.front()),
                      CUDA_SUCCESS);
            std::ofstream(handle_path(), std::ios::binary).write(handle.reserved, sizeof handle);
            wire.send();
            while (wire.receive() == 1) {
                EXPECT_EQ(tenant.give(), CUDA_SUCCESS);
                wire.send();
            }
        });
        EXPECT_EQ(maker->wire().receive(), 1U);
        return maker;
    }
    std::unique_ptr<gpusim::Peer> descriptor_maker() {
        auto maker = std::make_unique<gpusim::Peer>([this](gpusim::Wire& wire) {
            const Tenant tenant(container_.facade());
            const CUmemGenericAllocationHandle handle = create(tenant);
            const int fd = exported(tenant, handle);
            pipe_.send(fd);
            close(fd);
            wire.send();
            while (wire.receive() == 1) {
                EXPECT_EQ(release(tenant, handle), CUDA_SUCCESS);
                wire.send();
            }
        });
        EXPECT_EQ(maker->wire().receive(), 1U);
        return maker;
    }
    static void tell(gpusim::Peer& peer) {
        peer.wire().send(1);
        EXPECT_EQ(peer.wire().receive(), 1U);
    }
};

TEST_F(Sharing, AnIpcHandleThatOutlivesItsMakersFree) {
    const auto maker = ipc_maker(kBytes);
    in_tenant([&](Tenant& tenant) {
        CUdeviceptr pointer = 0;
        CUdeviceptr again = 0;
        EXPECT_EQ(open_ipc(tenant, pointer, ipc_handle()), CUDA_SUCCESS);
        EXPECT_EQ(open_ipc(tenant, again, ipc_handle()), CUDA_SUCCESS);
        tell(*maker);
        expect_held(2 * kContext + kBytes);
        EXPECT_EQ(tenant.take(600 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(CALL(tenant.cuda, cuIpcCloseMemHandle)(pointer), CUDA_SUCCESS);
        expect_held(2 * kContext + kBytes);
        EXPECT_EQ(CALL(tenant.cuda, cuIpcCloseMemHandle)(again), CUDA_SUCCESS);
        expect_held(2 * kContext);
        EXPECT_EQ(tenant.take(600 * kMiB), CUDA_SUCCESS);
    });
}

TEST_F(Sharing, AnIpcHandleThatOutlivesItsMaker) {
    auto maker = ipc_maker(kBytes);
    gpusim::Peer importer([&](gpusim::Wire& wire) {
        Tenant tenant(container_.facade());
        CUdeviceptr pointer = 0;
        EXPECT_EQ(open_ipc(tenant, pointer, ipc_handle()), CUDA_SUCCESS);
        wire.send();
        wire.receive();
        EXPECT_EQ(tenant.take(700 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(CALL(tenant.cuda, cuIpcCloseMemHandle)(pointer), CUDA_SUCCESS);
        expect_held(kContext);
        EXPECT_EQ(tenant.take(700 * kMiB), CUDA_SUCCESS);
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
    gpusim::Peer importer([&](gpusim::Wire& wire) {
        const Tenant tenant(container_.facade());
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
    in_tenant([&](Tenant& tenant) {
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

TEST_F(Sharing, SmallMemoryCountsAsTheGranuleThatItKeeps) {
    const auto maker = ipc_maker(1000);
    expect_held(kContext + 2 * kMiB);
    in_tenant([&](Tenant& tenant) {
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
        gpusim::Peer maker([&](gpusim::Wire& wire) {
            Tenant tenant(container_.facade());
            for (int i = 0; i < 1000; i++) {
                CUipcMemHandle handle = {};
                EXPECT_EQ(tenant.take(2 * kMiB), CUDA_SUCCESS);
                EXPECT_EQ(CALL(tenant.cuda, cuIpcGetMemHandle)(&handle, tenant.pointers.back()),
                          CUDA_SUCCESS);
                EXPECT_EQ(tenant.give(), CUDA_SUCCESS);
            }
            wire.send();
        });
        EXPECT_EQ(maker.wire().receive(), 1U);
        EXPECT_EQ(maker.join(), 0);
    }
    container_.region().reap();
    expect_held(0);
}

TEST_F(Sharing, ByDescriptorCountsOnceAndAfterItsMakerLetGo) {
    const auto maker = descriptor_maker();
    const int fd = pipe_.receive();
    in_tenant([&](Tenant& tenant) {
        CUmemGenericAllocationHandle handle = 0;
        EXPECT_EQ(import(tenant, fd, handle), CUDA_SUCCESS);
        expect_held(2 * kContext + kBytes);
        close(fd);
        const CUdeviceptr pointer = map(tenant, handle);
        EXPECT_EQ(release(tenant, handle), CUDA_SUCCESS);
        tell(*maker);
        expect_held(2 * kContext + kBytes);
        EXPECT_EQ(tenant.take(600 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(CALL(tenant.cuda, cuMemUnmap)(pointer, kBytes), CUDA_SUCCESS);
        expect_held(2 * kContext + kBytes);
    });
    close(fd);
    container_.region().reap();
    expect_held(kContext);
}

TEST_F(Sharing, ADescriptorThatOutlivesItsMaker) {
    auto maker = descriptor_maker();
    const int fd = pipe_.receive();
    gpusim::Peer importer([&](gpusim::Wire& wire) {
        const Tenant tenant(container_.facade());
        CUmemGenericAllocationHandle handle = 0;
        EXPECT_EQ(import(tenant, fd, handle), CUDA_SUCCESS);
        wire.send();
        wire.receive();
        EXPECT_EQ(release(tenant, handle), CUDA_SUCCESS);
        expect_held(kContext + kBytes);
    });
    EXPECT_EQ(importer.wire().receive(), 1U);
    maker->kill_hard();
    container_.region().reap();
    expect_held(kContext + kBytes);
    importer.wire().send();
    EXPECT_EQ(importer.join(), 0);
    container_.region().reap();
    expect_held(kBytes);
    close(fd);
    container_.region().reap();
    expect_held(0);
}

// In a socket that nobody reads, and then in another process.
TEST_F(Sharing, WhatIsOnTheWayCountsUntilItIsClosed) {
    for (const bool dies : {false, true}) {
        const auto maker = descriptor_maker();
        dies ? maker->kill_hard() : tell(*maker);
        const std::uint64_t of_maker = dies ? 0 : kContext;
        container_.region().reap();
        expect_held(of_maker + kBytes);
        const int fd = pipe_.receive();
        in_tenant([&](Tenant& tenant) {
            CUmemGenericAllocationHandle handle = 0;
            EXPECT_EQ(tenant.take(700 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
            EXPECT_EQ(import(tenant, fd, handle), CUDA_SUCCESS);
            expect_held(of_maker + kContext + kBytes);
            EXPECT_EQ(release(tenant, handle), CUDA_SUCCESS);
            expect_held(of_maker + kContext + kBytes);
        });
        close(fd);
        in_tenant([&](Tenant& tenant) {
            EXPECT_EQ(tenant.take(700 * kMiB), CUDA_SUCCESS);
            expect_held(of_maker + kContext + 700 * kMiB);
        });
    }
}

// By a process that keeps nothing but descriptors.
TEST_F(Sharing, MadeExportedAndReleasedInALoopIsRefusedAtTheLimit) {
    in_tenant([&](Tenant& tenant) {
        const auto free_bytes = [&tenant] {
            size_t free = 0;
            size_t total = 0;
            EXPECT_EQ(CALL(tenant.cuda, cuMemGetInfo_v2)(&free, &total), CUDA_SUCCESS);
            return free;
        };
        std::vector<int> fds;
        for (int i = 0; i < 9; i++) {
            const CUmemGenericAllocationHandle handle = create(tenant, 100 * kMiB);
            fds.push_back(exported(tenant, handle));
            EXPECT_EQ(release(tenant, handle), CUDA_SUCCESS);
        }
        EXPECT_EQ(tenant.take(100 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
        expect_held(kContext + 900 * kMiB);
        EXPECT_EQ(free_bytes(), 24 * kMiB);
        close(fds[0]);
        EXPECT_EQ(free_bytes(), 124 * kMiB);
        close(fds[1]);
        EXPECT_EQ(tenant.take(200 * kMiB), CUDA_SUCCESS);
        expect_held(gpusim::kGiB - 24 * kMiB);
        for (const int fd : fds)
            close(fd);
        EXPECT_EQ(free_bytes(), 724 * kMiB);
        expect_held(kContext + 200 * kMiB);
    });
}

TEST_F(Sharing, WhatADeadProcessLeftToDescriptorsCountsUntilTheLastIsClosed) {
    constexpr int kExports = 5;
    gpusim::Peer maker([&](gpusim::Wire& wire) {
        const Tenant tenant(container_.facade());
        for (int i = 0; i < kExports; i++)
            pipe_.send(exported(tenant, create(tenant, 100 * kMiB)));
        wire.send();
        wire.receive();
    });
    EXPECT_EQ(maker.wire().receive(), 1U);
    maker.kill_hard();
    container_.region().reap();
    expect_held(kExports * 100 * kMiB);
    EXPECT_EQ(held_by(container_.region().accounts(), 0, kNobody), held_bytes() / kGranuleBytes);
    for (int left = kExports - 1; left >= 0; left--) {
        close(pipe_.receive());
        container_.region().reap();
        expect_held(static_cast<std::uint64_t>(left) * 100 * kMiB);
    }
    EXPECT_EQ(held_by(container_.region().accounts(), 0, kNobody), 0U);
}

TEST_F(Sharing, MoreDescriptorsOfTheSameCountOnce) {
    in_tenant([&](Tenant& tenant) {
        const CUmemGenericAllocationHandle handle = create(tenant);
        const int first = exported(tenant, handle);
        close(first);
        container_.region().reap();
        const int second = exported(tenant, handle);
        EXPECT_EQ(release(tenant, handle), CUDA_SUCCESS);
        container_.region().reap();
        expect_held(kContext + kBytes);
        close(second);
        container_.region().reap();
        expect_held(kContext);
        EXPECT_EQ(tenant.take(900 * kMiB), CUDA_SUCCESS);
    });
}

// As many names as a slot has, again and again, though others of them are open: no name is given
// to two.
TEST_F(Sharing, NamesAreFoundBesideThoseThatAreOpen) {
    for (int round = 0; round < 3; round++) {
        gpusim::Peer maker([&](gpusim::Wire& wire) {
            const Tenant tenant(container_.facade());
            for (int i = 0; i < 100; i++) {
                const CUmemGenericAllocationHandle handle = create(tenant, 2 * kMiB);
                const int fd = exported(tenant, handle);
                EXPECT_EQ(release(tenant, handle), CUDA_SUCCESS);
                fcntl(fd, F_DUPFD, 500);
            }
            wire.send();
            wire.receive();
        });
        EXPECT_EQ(maker.wire().receive(), 1U);
        expect_held(kContext + 200 * kMiB);
        maker.kill_hard();
        container_.region().reap();
        expect_held(0);
    }
}

// Its maker is charged for it, then who imported it; and it stays charged when either lets go or
// dies.
TEST_F(Sharing, WhatWasOnTheWayCountsOnceWhoeverImportsIt) {
    for (const bool dies : {false, true}) {
        const auto maker = descriptor_maker();
        const int fd = pipe_.receive();
        tell(*maker);
        const auto importer = [&](gpusim::Wire& wire) {
            const Tenant tenant(container_.facade());
            CUmemGenericAllocationHandle handle = 0;
            EXPECT_EQ(import(tenant, fd, handle), CUDA_SUCCESS);
            close(fd);
            wire.send();
            wire.receive();
            EXPECT_EQ(release(tenant, handle), CUDA_SUCCESS);
            wire.send();
            wire.receive();
        };
        gpusim::Peer first(importer);
        EXPECT_EQ(first.wire().receive(), 1U);
        expect_held(2 * kContext + kBytes);
        gpusim::Peer second(importer);
        EXPECT_EQ(second.wire().receive(), 1U);
        expect_held(3 * kContext + kBytes);
        dies ? first.kill_hard() : tell(first);
        container_.region().reap();
        expect_held((dies ? 2 : 3) * kContext + kBytes);
        close(fd);
        tell(second);
        expect_held((dies ? 2 : 3) * kContext);
        for (auto* peer : {&first, &second, maker.get()})
            peer->kill_hard();
        container_.region().reap();
        expect_held(0);
    }
}

// Its maker's charge was taken back, and the driver has not noticed yet. Unused memory of pools
// makes room for it.
TEST_F(Sharing, AnIpcHandleThatNobodyIsChargedForIsAdopted) {
    const auto maker = ipc_maker(300 * kMiB);
    in_tenant([this](const Tenant& tenant) {
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
        container_.limits().cards[0].memory = granules_of(700 * kMiB);
        EXPECT_EQ(open_ipc(tenant, pointer, ipc_handle()), CUDA_SUCCESS);
        EXPECT_EQ(held_bytes(), kContext + 300 * kMiB);
    });
}

// So that processes that export at once never choose the same name: it has the slot in it.
TEST_F(Sharing, NamesOfDescriptorsAreOfOneProcess) {
    constexpr int kExports = 100;
    const auto of_process = [this] {
        auto peer = std::make_unique<gpusim::Peer>([this](gpusim::Wire& wire) {
            const Tenant tenant(container_.facade());
            for (int i = 0; i < kExports; i++)
                EXPECT_GE(exported(tenant, create(tenant, 2 * kMiB)), 0);
            wire.send();
            wire.receive();
        });
        EXPECT_EQ(peer->wire().receive(), 1U);
        return peer;
    };
    const auto first = of_process();
    const auto second = of_process();
    int of_slot[2] = {};
    for (const SharedMemory& entry : container_.region().accounts().shared_memory) {
        const std::uint64_t slot = entry.key.load() >> 10 & (kMaxProcesses - 1);
        if (is_in_use(entry) && slot < 2) of_slot[slot]++;
    }
    EXPECT_EQ(of_slot[0], kExports);
    EXPECT_EQ(of_slot[1], kExports);
}

TEST_F(Sharing, OneProcessIsAsMany) {
    in_tenant([&](Tenant& tenant) {
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
        EXPECT_EQ(tenant.take(900 * kMiB), CUDA_SUCCESS);
        expect_held(kContext + 900 * kMiB);
    });
}

// One thread asks for a handle of what another frees, and of which a third gets the address anew,
// by call or in the order of a stream.
TEST_F(Sharing, ThreadsThatExportWhatOthersFree) {
    in_tenant([&](Tenant& tenant) {
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

// It counts with its maker, in his container.
TEST_F(Sharing, OfAnotherContainerCountsThere) {
    const GuardedContainer other(node_, {{0, gpusim::kGiB, kContext}});
    const auto maker = descriptor_maker();
    const int fd = pipe_.receive();
    gpusim::in_child([&] {
        const Tenant tenant(other.facade());
        CUmemGenericAllocationHandle handle = 0;
        EXPECT_EQ(import(tenant, fd, handle), CUDA_SUCCESS);
        EXPECT_EQ(held(other.region().accounts(), 0) * kGranuleBytes, kContext);
        EXPECT_EQ(held_bytes(), kContext + kBytes);
    });
    close(fd);
}

TEST_F(GuardSharedMemory, OfAnotherApiTakesNothing) {
    in_tenant([&](Tenant& tenant) {
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
