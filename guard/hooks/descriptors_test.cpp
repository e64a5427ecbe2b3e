// Goal: memory that has a descriptor counts once in the container, with a process that has it or in
// kOrphanSlot. It counts until the last descriptor is closed, whichever process releases it or
// dies. Method: the facade in front of the simulated driver; its own count is compared after each
// step.
#include <fcntl.h>
#include <unistd.h>

#include <vector>

#include "guard/region/shared_memory.hpp"
#include "guard/test_support/sharing.hpp"

namespace tessera::guard {
namespace {

using gpusim::CudaProgram;
using gpusim::kMiB;

using SharingDescriptors = Sharing;

TEST_F(SharingDescriptors, ByDescriptorCountsOnceAndAfterItsMakerLetGo) {
    const auto maker = descriptor_maker();
    const int fd = pipe_.receive();
    in_tenant([&](CudaProgram& tenant) {
        CUmemGenericAllocationHandle handle = 0;
        EXPECT_EQ(import(tenant, fd, handle), CUDA_SUCCESS);
        expect_held(2 * kContext + kBytes);
        close(fd);
        const CUdeviceptr pointer = map(tenant, handle);
        EXPECT_EQ(release(tenant, handle), CUDA_SUCCESS);
        tell(*maker);
        expect_held(2 * kContext + kBytes);
        EXPECT_EQ(tenant.allocate(600 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(CALL(tenant.cuda, cuMemUnmap)(pointer, kBytes), CUDA_SUCCESS);
        expect_held(2 * kContext + kBytes);
    });
    close(fd);
    container_.region().reap();
    expect_held(kContext);
}

TEST_F(SharingDescriptors, ADescriptorThatOutlivesItsMaker) {
    auto maker = descriptor_maker();
    const int fd = pipe_.receive();
    gpusim::ChildProcess importer([&](gpusim::Wire& wire) {
        const CudaProgram tenant(container_.facade());
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

// The descriptor is in a socket that no process reads, and then in another process.
TEST_F(SharingDescriptors, WhatIsOnTheWayCountsUntilItIsClosed) {
    for (const bool dies : {false, true}) {
        const auto maker = descriptor_maker();
        dies ? maker->kill_hard() : tell(*maker);
        const std::uint64_t of_maker = dies ? 0 : kContext;
        container_.region().reap();
        expect_held(of_maker + kBytes);
        const int fd = pipe_.receive();
        in_tenant([&](CudaProgram& tenant) {
            CUmemGenericAllocationHandle handle = 0;
            EXPECT_EQ(tenant.allocate(700 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
            EXPECT_EQ(import(tenant, fd, handle), CUDA_SUCCESS);
            expect_held(of_maker + kContext + kBytes);
            EXPECT_EQ(release(tenant, handle), CUDA_SUCCESS);
            expect_held(of_maker + kContext + kBytes);
        });
        close(fd);
        in_tenant([&](CudaProgram& tenant) {
            EXPECT_EQ(tenant.allocate(700 * kMiB), CUDA_SUCCESS);
            expect_held(of_maker + kContext + 700 * kMiB);
        });
    }
}

// A process that keeps nothing but descriptors.
TEST_F(SharingDescriptors, MadeExportedAndReleasedInALoopIsRefusedAtTheLimit) {
    in_tenant([&](CudaProgram& tenant) {
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
        EXPECT_EQ(tenant.allocate(100 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
        expect_held(kContext + 900 * kMiB);
        EXPECT_EQ(free_bytes(), 24 * kMiB);
        close(fds[0]);
        EXPECT_EQ(free_bytes(), 124 * kMiB);
        close(fds[1]);
        EXPECT_EQ(tenant.allocate(200 * kMiB), CUDA_SUCCESS);
        expect_held(gpusim::kGiB - 24 * kMiB);
        for (const int fd : fds)
            close(fd);
        EXPECT_EQ(free_bytes(), 724 * kMiB);
        expect_held(kContext + 200 * kMiB);
    });
}

TEST_F(SharingDescriptors, WhatADeadProcessLeftToDescriptorsCountsUntilTheLastIsClosed) {
    constexpr int kExports = 5;
    gpusim::ChildProcess maker([&](gpusim::Wire& wire) {
        const CudaProgram tenant(container_.facade());
        for (int i = 0; i < kExports; i++)
            pipe_.send(exported(tenant, create(tenant, 100 * kMiB)));
        wire.send();
        wire.receive();
    });
    EXPECT_EQ(maker.wire().receive(), 1U);
    maker.kill_hard();
    container_.region().reap();
    expect_held(kExports * 100 * kMiB);
    EXPECT_EQ(held_by(container_.region().accounts(), 0, kOrphanSlot),
              held_bytes() / kAllocationUnitBytes);
    for (int left = kExports - 1; left >= 0; left--) {
        close(pipe_.receive());
        container_.region().reap();
        expect_held(static_cast<std::uint64_t>(left) * 100 * kMiB);
    }
    EXPECT_EQ(held_by(container_.region().accounts(), 0, kOrphanSlot), 0U);
}

TEST_F(SharingDescriptors, MoreDescriptorsOfTheSameCountOnce) {
    in_tenant([&](CudaProgram& tenant) {
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
        EXPECT_EQ(tenant.allocate(900 * kMiB), CUDA_SUCCESS);
    });
}

// Uses as many names as a slot has, again and again, while others of them are open. No name is
// given to two.
TEST_F(SharingDescriptors, NamesAreFoundBesideThoseThatAreOpen) {
    for (int round = 0; round < 3; round++) {
        gpusim::ChildProcess maker([&](gpusim::Wire& wire) {
            const CudaProgram tenant(container_.facade());
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

// Its maker is charged for it, then the process that imported it. It stays charged when either
// releases it or dies.
TEST_F(SharingDescriptors, WhatWasOnTheWayCountsOnceWhoeverImportsIt) {
    for (const bool dies : {false, true}) {
        const auto maker = descriptor_maker();
        const int fd = pipe_.receive();
        tell(*maker);
        const auto importer = [&](gpusim::Wire& wire) {
            const CudaProgram tenant(container_.facade());
            CUmemGenericAllocationHandle handle = 0;
            EXPECT_EQ(import(tenant, fd, handle), CUDA_SUCCESS);
            close(fd);
            wire.send();
            wire.receive();
            EXPECT_EQ(release(tenant, handle), CUDA_SUCCESS);
            wire.send();
            wire.receive();
        };
        gpusim::ChildProcess first(importer);
        EXPECT_EQ(first.wire().receive(), 1U);
        expect_held(2 * kContext + kBytes);
        gpusim::ChildProcess second(importer);
        EXPECT_EQ(second.wire().receive(), 1U);
        expect_held(3 * kContext + kBytes);
        dies ? first.kill_hard() : tell(first);
        container_.region().reap();
        expect_held((dies ? 2 : 3) * kContext + kBytes);
        close(fd);
        tell(second);
        expect_held((dies ? 2 : 3) * kContext);
        for (auto* child : {&first, &second, maker.get()})
            child->kill_hard();
        container_.region().reap();
        expect_held(0);
    }
}

// The name contains the slot, so processes that export at once never choose the same name.
TEST_F(SharingDescriptors, NamesOfDescriptorsAreOfOneProcess) {
    constexpr int kExports = 100;
    const auto of_process = [this] {
        auto child = std::make_unique<gpusim::ChildProcess>([this](gpusim::Wire& wire) {
            const CudaProgram tenant(container_.facade());
            for (int i = 0; i < kExports; i++)
                EXPECT_GE(exported(tenant, create(tenant, 2 * kMiB)), 0);
            wire.send();
            wire.receive();
        });
        EXPECT_EQ(child->wire().receive(), 1U);
        return child;
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

}  // namespace
}  // namespace tessera::guard
