// Fixture for tests of memory that is passed between processes.
#pragma once

#include <unistd.h>

#include <fstream>
#include <memory>

#include "gpusim/test_support/descriptor_pipe.hpp"
#include "guard/test_support/held_memory.hpp"

namespace tessera::guard {

// The makers are processes that allocate memory, pass it on, and follow commands: 1 frees the
// memory, anything else ends the process.
class Sharing : public HeldMemory {
  protected:
    static constexpr std::uint64_t kBytes = 300 * gpusim::kMiB;
    static constexpr auto kDescriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

    gpusim::DescriptorPipe pipe_;

    static CUmemGenericAllocationHandle create(const gpusim::CudaProgram& tenant,
                                               std::uint64_t bytes = kBytes) {
        CUmemAllocationProp properties = {};
        properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.requestedHandleTypes = kDescriptor;
        properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
        CUmemGenericAllocationHandle handle = 0;
        EXPECT_EQ(CALL(tenant.cuda, cuMemCreate)(&handle, bytes, &properties, 0), CUDA_SUCCESS);
        return handle;
    }
    static int exported(const gpusim::CudaProgram& tenant, CUmemGenericAllocationHandle handle) {
        int fd = -1;
        EXPECT_EQ(CALL(tenant.cuda, cuMemExportToShareableHandle)(&fd, handle, kDescriptor, 0),
                  CUDA_SUCCESS);
        return fd;
    }
    static CUresult import(const gpusim::CudaProgram& tenant, int fd,
                           CUmemGenericAllocationHandle& handle) {
        return CALL(tenant.cuda, cuMemImportFromShareableHandle)(
            &handle, gpusim::as_pointer(static_cast<CUdeviceptr>(fd)), kDescriptor);
    }
    static CUresult release(const gpusim::CudaProgram& tenant,
                            CUmemGenericAllocationHandle handle) {
        return CALL(tenant.cuda, cuMemRelease)(handle);
    }
    // Maps the memory at any address.
    static CUdeviceptr map(const gpusim::CudaProgram& tenant, CUmemGenericAllocationHandle handle) {
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
    static CUresult open_ipc(const gpusim::CudaProgram& tenant, CUdeviceptr& pointer,
                             const CUipcMemHandle& handle) {
        return CALL(tenant.cuda, cuIpcOpenMemHandle_v2)(&pointer, handle,
                                                        CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    }

    std::unique_ptr<gpusim::ChildProcess> ipc_maker(std::uint64_t bytes) {
        auto maker = std::make_unique<gpusim::ChildProcess>([this, bytes](gpusim::Wire& wire) {
            gpusim::CudaProgram tenant(container_.facade());
            CUipcMemHandle handle = {};
            EXPECT_EQ(tenant.allocate(bytes), CUDA_SUCCESS);
            EXPECT_EQ(CALL(tenant.cuda, cuIpcGetMemHandle)(&handle, tenant.pointers.front()),
                      CUDA_SUCCESS);
            std::ofstream(handle_path(), std::ios::binary).write(handle.reserved, sizeof handle);
            wire.send();
            while (wire.receive() == 1) {
                EXPECT_EQ(tenant.free_last(), CUDA_SUCCESS);
                wire.send();
            }
        });
        EXPECT_EQ(maker->wire().receive(), 1U);
        return maker;
    }
    std::unique_ptr<gpusim::ChildProcess> descriptor_maker() {
        auto maker = std::make_unique<gpusim::ChildProcess>([this](gpusim::Wire& wire) {
            const gpusim::CudaProgram tenant(container_.facade());
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
    static void tell(gpusim::ChildProcess& child) {
        child.wire().send(1);
        EXPECT_EQ(child.wire().receive(), 1U);
    }
};

}  // namespace tessera::guard
