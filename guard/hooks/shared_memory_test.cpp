// Goal: memory that comes from elsewhere counts with whom it is from: once with the process that
// made it, and not at all where another API did. Method: the facade before the simulated driver,
// whose own count is compared after each step.
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>

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
        EXPECT_EQ(CALL(tenant.cuda, cuIpcOpenMemHandle_v2)(&pointer, handle,
                                                           CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
                  CUDA_SUCCESS);
        expect_held(2 * kContext + 300 * kMiB);
        EXPECT_EQ(CALL(tenant.cuda, cuIpcCloseMemHandle)(pointer), CUDA_SUCCESS);
        expect_held(2 * kContext + 300 * kMiB);
    });
    maker.wire().send();
    EXPECT_EQ(maker.join(), 0);
    container_.region().reap();
    expect_held(0);
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
