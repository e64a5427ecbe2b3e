// Goal: processes share a GPU's memory as documented. Each sees what the others hold, and none gets
// more than there is. A process that dies releases everything, and shared memory counts once.
#include <unistd.h>

#include <chrono>
#include <thread>

#include "gpusim/test_support/conformance.hpp"
#include "gpusim/test_support/descriptor_pipe.hpp"

namespace gpusim {
namespace {

constexpr std::uint64_t kBytes = 512 * kMiB;
constexpr auto kDescriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

class ConformingProcesses : public Conformance {
  protected:
    DescriptorPipe pipe_;

    // Waits until no more than `most` is taken: a real driver cleans up after dead processes with a
    // delay.
    std::uint64_t settles_at(std::uint64_t most) const {
        std::uint64_t now = taken_now();
        for (int tries = 0; now > most && tries < 50; tries++) {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            now = taken_now();
        }
        return now;
    }
    // What a context of another process takes: some 526 MiB on an H100.
    std::uint64_t context_bytes() const {
        const std::uint64_t before = taken_now();
        ChildProcess other([this](Wire& wire) {
            const CudaProgram tenant(library());
            wire.send();
            wire.receive();
        });
        EXPECT_EQ(other.wire().receive(), 1U);
        const std::uint64_t bytes = taken_now() - before;
        other.kill_hard();
        EXPECT_LE(settles_at(before), before) << "a context was left behind";
        return bytes;
    }
};

TEST_F(ConformingProcesses, SeeEachOther) {
    const std::uint64_t before = taken_now();
    const auto neighbour = start_holder(library(), kBytes);
    EXPECT_GE(taken_now(), before + kBytes) << "what the neighbour holds is taken";
    in_child([this] {
        CudaProgram tenant(library());
        const std::uint64_t rest = tenant.free_bytes();
        EXPECT_EQ(tenant.allocate(rest + 64 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
    });
    neighbour->wire().send();
    EXPECT_EQ(neighbour->join(), 0) << "the neighbour failed";
    EXPECT_LE(settles_at(before), before) << "what the neighbour held is back";
}

TEST_F(ConformingProcesses, AKillGivesBack) {
    const std::uint64_t before = taken_now();
    start_holder(library(), kBytes)->kill_hard();
    EXPECT_LE(settles_at(before), before) << "what the killed process held is back";
}

CUmemAllocationProp shareable() {
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.requestedHandleTypes = kDescriptor;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    return properties;
}

// Creates memory, sends its descriptor and waits for a command or a kill.
void create_and_send(const Library& cuda, DescriptorPipe& pipe, Wire& wire) {
    const CUmemAllocationProp properties = shareable();
    CUmemGenericAllocationHandle handle = 0;
    int fd = -1;
    ASSERT_EQ(CALL(cuda, cuMemCreate)(&handle, kBytes, &properties, 0), CUDA_SUCCESS);
    ASSERT_EQ(CALL(cuda, cuMemExportToShareableHandle)(&fd, handle, kDescriptor, 0), CUDA_SUCCESS);
    pipe.send(fd);
    close(fd);
    wire.send();
    wire.receive();
}

TEST_F(ConformingProcesses, WhatIsExportedIsThereOnceAndOutlivesItsKilledCreator) {
    const std::uint64_t context = context_bytes();
    const std::uint64_t before = taken_now();
    ChildProcess creator(
        [this](Wire& wire) { create_and_send(CudaProgram(library()).cuda, pipe_, wire); });
    ASSERT_EQ(creator.wire().receive(), 1U);
    const int fd = pipe_.receive();
    ChildProcess importer([this, fd](Wire& wire) {
        const CudaProgram tenant(library());
        CUmemGenericAllocationHandle handle = 0;
        EXPECT_EQ(CALL(tenant.cuda, cuMemImportFromShareableHandle)(
                      &handle, as_pointer(static_cast<CUdeviceptr>(fd)), kDescriptor),
                  CUDA_SUCCESS);
        close(fd);
        wire.send();
        wire.receive();
    });
    importer.wire().receive();
    close(fd);
    const std::uint64_t with_both = taken_now();
    EXPECT_GE(with_both, before + kBytes) << "the memory is there; a context takes " << context;
    EXPECT_LT(with_both, before + 2 * context + 2 * kBytes)
        << "two contexts, but not twice the memory; taken before " << before << ", a context takes "
        << context;
    creator.kill_hard();
    EXPECT_GE(settles_at(with_both - 1), before + kBytes)
        << "the memory outlives its creator, whose context is gone; taken with both " << with_both;
    importer.kill_hard();
    EXPECT_LE(settles_at(before), before) << "all is back after the death of the importer";
}

TEST_F(ConformingProcesses, IpcMemoryIsTheSame) {
    int handles[2] = {};
    ASSERT_EQ(pipe(handles), 0);
    ChildProcess exporter([&](Wire& wire) {
        CudaProgram tenant(library());
        CUipcMemHandle handle = {};
        ASSERT_EQ(tenant.allocate(kBytes), CUDA_SUCCESS);
        const CUdeviceptr pointer = tenant.pointers.back();
        EXPECT_EQ(CALL(tenant.cuda, cuMemsetD8_v2)(pointer, 'e', kBytes), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuIpcGetMemHandle)(&handle, pointer), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuCtxSynchronize)(), CUDA_SUCCESS);
        EXPECT_EQ(write(handles[1], &handle, sizeof handle), ssize_t{sizeof handle});
        wire.send();
        wire.receive();
        char byte = 0;
        EXPECT_EQ(CALL(tenant.cuda, cuMemcpyDtoH_v2)(&byte, pointer, 1), CUDA_SUCCESS);
        EXPECT_EQ(byte, 'i') << "what the importer wrote";
        EXPECT_EQ(tenant.free_last(), CUDA_SUCCESS);
    });
    ASSERT_EQ(exporter.wire().receive(), 1U);
    in_child([&] {
        const CudaProgram tenant(library());
        CUipcMemHandle handle = {};
        CUdeviceptr pointer = 0;
        char byte = 0;
        EXPECT_EQ(read(handles[0], &handle, sizeof handle), ssize_t{sizeof handle});
        ASSERT_EQ(CALL(tenant.cuda, cuIpcOpenMemHandle_v2)(&pointer, handle,
                                                           CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuMemcpyDtoH_v2)(&byte, pointer + kBytes - 1, 1), CUDA_SUCCESS);
        EXPECT_EQ(byte, 'e');
        EXPECT_EQ(CALL(tenant.cuda, cuMemsetD8_v2)(pointer, 'i', 1), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuCtxSynchronize)(), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuIpcCloseMemHandle)(pointer), CUDA_SUCCESS);
    });
    exporter.wire().send();
    EXPECT_EQ(exporter.join(), 0) << "the exporter failed";
}

}  // namespace
}  // namespace gpusim
