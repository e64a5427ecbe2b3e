// Goal: physical memory is charged from cuMemCreate until its last handle and its last mapping are
// gone, and only once, whichever process imports it. Method: the facade in front of the simulated
// driver; its own count is compared after each step.
#include <unistd.h>

#include "gpusim/test_support/descriptor_pipe.hpp"
#include "guard/test_support/held_memory.hpp"

namespace tessera::guard {
namespace {

using gpusim::CudaProgram;
using gpusim::kMiB;
using Handle = CUmemGenericAllocationHandle;

constexpr auto kDescriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

void* at(std::uint64_t address) {
    return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

CUresult create(const CudaProgram& tenant, Handle& handle, std::uint64_t bytes,
                CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
                CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_NONE) {
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.requestedHandleTypes = type;
    properties.location = location;
    return CALL(tenant.cuda, cuMemCreate)(&handle, bytes, &properties, 0);
}

CUresult release(const CudaProgram& tenant, Handle handle) {
    return CALL(tenant.cuda, cuMemRelease)(handle);
}

CUresult import(const CudaProgram& tenant, Handle& handle, int fd) {
    const auto number = static_cast<std::uint64_t>(fd);
    const CUresult result =
        CALL(tenant.cuda, cuMemImportFromShareableHandle)(&handle, at(number), kDescriptor);
    close(fd);
    return result;
}

CUdeviceptr reserve_addresses(const CudaProgram& tenant, std::uint64_t bytes) {
    CUdeviceptr pointer = 0;
    EXPECT_EQ(CALL(tenant.cuda, cuMemAddressReserve)(&pointer, bytes, 0, 0, 0), CUDA_SUCCESS);
    return pointer;
}

CUresult map(const CudaProgram& tenant, CUdeviceptr pointer, std::uint64_t bytes, Handle handle) {
    return CALL(tenant.cuda, cuMemMap)(pointer, bytes, 0, handle, 0);
}

CUresult unmap(const CudaProgram& tenant, CUdeviceptr pointer, std::uint64_t bytes) {
    return CALL(tenant.cuda, cuMemUnmap)(pointer, bytes);
}

class GuardVirtualMemory : public HeldMemory {
  protected:
    gpusim::DescriptorPipe pipe_;

    // Makes memory, passes it on, and lives until a command or a kill.
    std::unique_ptr<gpusim::ChildProcess> start_creator(std::uint64_t bytes) {
        auto creator = std::make_unique<gpusim::ChildProcess>([this, bytes](gpusim::Wire& wire) {
            const CudaProgram tenant(container_.facade());
            Handle handle = 0;
            int fd = -1;
            EXPECT_EQ(create(tenant, handle, bytes, {CU_MEM_LOCATION_TYPE_DEVICE, 0}, kDescriptor),
                      CUDA_SUCCESS);
            EXPECT_EQ(CALL(tenant.cuda, cuMemExportToShareableHandle)(&fd, handle, kDescriptor, 0),
                      CUDA_SUCCESS);
            pipe_.send(fd);
            close(fd);
            wire.send();
            wire.receive();
        });
        EXPECT_EQ(creator->wire().receive(), 1U);
        return creator;
    }
};

TEST_F(GuardVirtualMemory, ExactToAnAllocationUnit) {
    in_tenant([&](CudaProgram& tenant) {
        Handle first = 0;
        Handle second = 0;
        reserve_addresses(tenant, 4 * gpusim::kGiB);
        EXPECT_EQ(create(tenant, first, 900 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(create(tenant, second, 26 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(create(tenant, second, 24 * kMiB), CUDA_SUCCESS);
        expect_held(gpusim::kGiB);
        EXPECT_EQ(tenant.allocate(1), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(release(tenant, first), CUDA_SUCCESS);
        expect_held(kContext + 24 * kMiB);
        EXPECT_EQ(release(tenant, first), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(create(tenant, first, 900 * kMiB), CUDA_SUCCESS);
        expect_held(gpusim::kGiB);
    });
}

TEST_F(GuardVirtualMemory, AMappingKeepsIt) {
    in_tenant([&](CudaProgram& tenant) {
        Handle handle = 0;
        const CUdeviceptr pointer = reserve_addresses(tenant, 100 * kMiB);
        EXPECT_EQ(create(tenant, handle, 50 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(map(tenant, pointer, 50 * kMiB, handle), CUDA_SUCCESS);
        EXPECT_EQ(map(tenant, pointer + 50 * kMiB, 50 * kMiB, handle), CUDA_SUCCESS);
        EXPECT_EQ(map(tenant, pointer, 50 * kMiB, handle), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(release(tenant, handle), CUDA_SUCCESS);
        expect_held(kContext + 50 * kMiB);
        EXPECT_EQ(unmap(tenant, pointer + 2 * kMiB, 48 * kMiB), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(unmap(tenant, pointer, 50 * kMiB), CUDA_SUCCESS);
        expect_held(kContext + 50 * kMiB);
        Handle again = 0;
        EXPECT_EQ(CALL(tenant.cuda, cuMemRetainAllocationHandle)(&again, at(pointer + 60 * kMiB)),
                  CUDA_SUCCESS);
        EXPECT_EQ(unmap(tenant, pointer + 50 * kMiB, 50 * kMiB), CUDA_SUCCESS);
        expect_held(kContext + 50 * kMiB);
        EXPECT_EQ(release(tenant, again), CUDA_SUCCESS);
        expect_held(kContext);
    });
}

TEST_F(GuardVirtualMemory, ManyMappingsAreUnmappedAtOnce) {
    in_tenant([&](CudaProgram& tenant) {
        const CUdeviceptr pointer = reserve_addresses(tenant, 100 * kMiB);
        for (std::uint64_t offset = 0; offset < 100 * kMiB; offset += 10 * kMiB) {
            Handle handle = 0;
            EXPECT_EQ(create(tenant, handle, 10 * kMiB), CUDA_SUCCESS);
            EXPECT_EQ(map(tenant, pointer + offset, 10 * kMiB, handle), CUDA_SUCCESS);
            EXPECT_EQ(release(tenant, handle), CUDA_SUCCESS);
        }
        expect_held(kContext + 100 * kMiB);
        EXPECT_EQ(unmap(tenant, pointer + 20 * kMiB, 70 * kMiB), CUDA_SUCCESS);
        expect_held(kContext + 30 * kMiB);
        EXPECT_EQ(unmap(tenant, pointer, 20 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(unmap(tenant, pointer + 90 * kMiB, 10 * kMiB), CUDA_SUCCESS);
        expect_held(kContext);
    });
}

TEST_F(GuardVirtualMemory, DoesNotEndWithAContext) {
    in_tenant([&](CudaProgram& tenant) {
        Handle handle = 0;
        EXPECT_EQ(create(tenant, handle, 50 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuCtxDestroy_v2)(tenant.context), CUDA_SUCCESS);
        expect_held(50 * kMiB);
        EXPECT_EQ(release(tenant, handle), CUDA_SUCCESS);
        expect_held(0);
    });
}

TEST_F(GuardVirtualMemory, TheHostsTakesNothingAndOthersIsNotToBeHad) {
    in_tenant([&](CudaProgram& tenant) {
        Handle handle = 0;
        EXPECT_EQ(create(tenant, handle, 2 * gpusim::kGiB, {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}),
                  CUDA_SUCCESS);
        expect_held(kContext);
        EXPECT_EQ(release(tenant, handle), CUDA_SUCCESS);
        EXPECT_EQ(create(tenant, handle, 2 * kMiB, {CU_MEM_LOCATION_TYPE_DEVICE, 1}),
                  CUDA_ERROR_OPERATING_SYSTEM);
        EXPECT_EQ(create(tenant, handle, 2 * kMiB, {CU_MEM_LOCATION_TYPE_DEVICE, 7}),
                  CUDA_ERROR_INVALID_DEVICE);
        expect_held(kContext);
    });
}

TEST_F(GuardVirtualMemory, WhatTheDriverRefusesIsPutBack) {
    in_tenant([&](CudaProgram& tenant) {
        Handle handle = 0;
        EXPECT_EQ(node_.control("fault 0 allocation 1"), 0);
        EXPECT_EQ(create(tenant, handle, 50 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(create(tenant, handle, 50 * kMiB + 1), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(tenant.cuda, cuMemCreate)(&handle, 2 * kMiB, nullptr, 0),
                  CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(tenant.cuda, cuMemRetainAllocationHandle)(nullptr, nullptr),
                  CUDA_ERROR_INVALID_VALUE);
        expect_held(kContext);
    });
    EXPECT_EQ(container_.region().accounts().gpus[0].refusals.load(), 0U);
}

TEST_F(GuardVirtualMemory, WhatIsImportedItsMakerCounts) {
    const auto creator = start_creator(200 * kMiB);
    in_tenant([&](CudaProgram& tenant) {
        Handle handle = 0;
        const int fd = pipe_.receive();
        EXPECT_EQ(import(tenant, handle, fd), CUDA_SUCCESS);
        const CUdeviceptr pointer = reserve_addresses(tenant, 200 * kMiB);
        EXPECT_EQ(map(tenant, pointer, 200 * kMiB, handle), CUDA_SUCCESS);
        expect_held(2 * kContext + 200 * kMiB);
        EXPECT_EQ(unmap(tenant, pointer, 200 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(release(tenant, handle), CUDA_SUCCESS);
        expect_held(2 * kContext + 200 * kMiB);
    });
    creator->wire().send();
    EXPECT_EQ(creator->join(), 0);
    container_.region().reap();
    expect_held(0);
}

TEST_F(GuardVirtualMemory, WhatOutlivesItsMakerIsRefusedToOthers) {
    const auto creator = start_creator(200 * kMiB);
    gpusim::ChildProcess importer([&](gpusim::Wire& wire) {
        CudaProgram tenant(container_.facade());
        Handle handle = 0;
        const int fd = pipe_.receive();
        EXPECT_EQ(import(tenant, handle, fd), CUDA_SUCCESS);
        wire.send();
        wire.receive();
        EXPECT_EQ(tenant.allocate(900 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
        expect_held(kContext + 200 * kMiB);
    });
    EXPECT_EQ(importer.wire().receive(), 1U);
    creator->kill_hard();
    importer.wire().send();
    EXPECT_EQ(importer.join(), 0);
}

TEST_F(GuardVirtualMemory, WhoDiesGivesItBack) {
    gpusim::ChildProcess child([&](gpusim::Wire& wire) {
        const CudaProgram tenant(container_.facade());
        Handle handle = 0;
        EXPECT_EQ(create(tenant, handle, 900 * kMiB), CUDA_SUCCESS);
        wire.send();
        wire.receive();
    });
    EXPECT_EQ(child.wire().receive(), 1U);
    child.kill_hard();
    in_tenant([](CudaProgram& tenant) {
        Handle handle = 0;
        EXPECT_EQ(create(tenant, handle, 900 * kMiB), CUDA_SUCCESS);
    });
    container_.region().reap();
    expect_held(0);
}

}  // namespace
}  // namespace tessera::guard
