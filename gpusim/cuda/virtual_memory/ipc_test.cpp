// Goal: memory of cuMemAlloc opened in other processes by its IPC handle is the same memory, and
// counts once. Method: forked children that pass handles through a file.
#include <fstream>

#include "gpusim/test_support/cuda_test.hpp"

namespace gpusim {
namespace {

constexpr unsigned kLazy = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;

class CudaIpc : public CudaTest {
  protected:
    void publish(const CUipcMemHandle& handle) const {
        std::ofstream(node_.root() / "handle", std::ios::binary)
            .write(handle.reserved, sizeof handle);
    }
    CUipcMemHandle published() const {
        CUipcMemHandle handle = {};
        std::ifstream(node_.root() / "handle", std::ios::binary)
            .read(handle.reserved, sizeof handle);
        return handle;
    }

    // Allocates `bytes`, writes 'e' to them, publishes the handle, and frees them on a command.
    std::unique_ptr<ChildProcess> start_exporter(std::size_t bytes) const {
        auto exporter = std::make_unique<ChildProcess>(
            [this, bytes](Wire& wire) { with_exported(bytes, wire); });
        EXPECT_EQ(exporter->wire().receive(), 1U);
        return exporter;
    }

  private:
    void with_exported(std::size_t bytes, Wire& wire) const {
        const Library cuda(library());
        CUcontext context = nullptr;
        CUdeviceptr other = 0;
        CUdeviceptr pointer = 0;
        CUipcMemHandle handle = {};
        ASSERT_EQ(CALL(cuda, cuInit)(0), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuCtxCreate_v2)(&context, 0, 0), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuMemAlloc_v2)(&other, 1000), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuMemAlloc_v2)(&pointer, bytes), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(pointer, 'e', bytes), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuIpcGetMemHandle)(&handle, pointer), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuIpcGetMemHandle)(&handle, pointer), CUDA_SUCCESS) << "again";
        publish(handle);
        CUdeviceptr mine = 0;
        EXPECT_EQ(CALL(cuda, cuIpcOpenMemHandle_v2)(&mine, handle, kLazy),
                  CUDA_ERROR_INVALID_CONTEXT)
            << "only other processes may open it";
        wire.send();
        wire.receive();
        char byte = 0;
        EXPECT_EQ(CALL(cuda, cuMemcpyDtoH_v2)(&byte, pointer + bytes - 1, 1), CUDA_SUCCESS);
        EXPECT_EQ(byte, 'i') << "what the importer wrote";
        EXPECT_EQ(CALL(cuda, cuMemFree_v2)(pointer), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemFree_v2)(other), CUDA_SUCCESS);
        wire.send();
        wire.receive();
    }
};

TEST_F(CudaIpc, IsTheSameMemory) {
    const auto exporter = start_exporter(10 * kMiB);
    EXPECT_EQ(node_.used(0), 12 * kMiB);
    with_context([this](const Library& cuda) {
        CUdeviceptr pointer = 0;
        CUdeviceptr again = 0;
        CUdeviceptr base = 0;
        size_t bytes = 0;
        char byte = 0;
        const auto open = CALL(cuda, cuIpcOpenMemHandle_v2);
        const auto close = CALL(cuda, cuIpcCloseMemHandle);
        ASSERT_EQ(open(&pointer, published(), kLazy), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuIpcOpenMemHandle)(&again, published(), kLazy), CUDA_SUCCESS);
        EXPECT_EQ(again, pointer) << "open already: counted";
        EXPECT_EQ(node_.used(0), 12 * kMiB);
        EXPECT_EQ(CALL(cuda, cuMemGetAddressRange_v2)(&base, &bytes, pointer), CUDA_SUCCESS);
        EXPECT_EQ(bytes, 10 * kMiB);
        EXPECT_EQ(CALL(cuda, cuMemcpyDtoH_v2)(&byte, pointer, 1), CUDA_SUCCESS);
        EXPECT_EQ(byte, 'e') << "written before the handle was asked for";
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(pointer, 'i', bytes), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemFree_v2)(pointer), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(close(pointer), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(pointer, 'i', bytes), CUDA_SUCCESS) << "still open";
        EXPECT_EQ(close(pointer), CUDA_SUCCESS);
        EXPECT_EQ(close(pointer), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(pointer, 'i', bytes), CUDA_ERROR_INVALID_VALUE);
    });
    EXPECT_EQ(node_.used(0), 12 * kMiB);
    exporter->wire().send();
    exporter->wire().receive();
    EXPECT_EQ(node_.used(0), 0U);
    exporter->wire().send();
    EXPECT_EQ(exporter->join(), 0);
}

TEST_F(CudaIpc, SmallOnesShareTheirAllocationUnit) {
    const auto exporter = start_exporter(1000);
    EXPECT_EQ(node_.used(0), 2 * kMiB);
    with_context([this](const Library& cuda) {
        CUdeviceptr pointer = 0;
        CUdeviceptr base = 0;
        size_t bytes = 0;
        char byte = 0;
        ASSERT_EQ(CALL(cuda, cuIpcOpenMemHandle_v2)(&pointer, published(), kLazy), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemGetAddressRange_v2)(&base, &bytes, pointer), CUDA_SUCCESS);
        EXPECT_EQ(base, pointer);
        EXPECT_EQ(bytes, 1000U);
        EXPECT_EQ(CALL(cuda, cuMemcpyDtoH_v2)(&byte, pointer + 999, 1), CUDA_SUCCESS);
        EXPECT_EQ(byte, 'e');
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(pointer, 'i', 1000), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 2 * kMiB);
    });
    exporter->wire().send();
    exporter->wire().receive();
    EXPECT_EQ(node_.used(0), 0U);
    exporter->wire().send();
    EXPECT_EQ(exporter->join(), 0);
}

TEST_F(CudaIpc, StaysWhileItIsOpen) {
    const auto exporter = start_exporter(10 * kMiB);
    ChildProcess importer([this](Wire& wire) {
        with_context([&](const Library& cuda) {
            CUdeviceptr pointer = 0;
            ASSERT_EQ(CALL(cuda, cuIpcOpenMemHandle_v2)(&pointer, published(), kLazy),
                      CUDA_SUCCESS);
            wire.send();
            wire.receive();
            EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(pointer, 'i', 10 * kMiB), CUDA_SUCCESS);
            EXPECT_EQ(CALL(cuda, cuIpcCloseMemHandle)(pointer), CUDA_SUCCESS);
            EXPECT_EQ(node_.used(0), 0U);
            EXPECT_EQ(CALL(cuda, cuIpcOpenMemHandle_v2)(&pointer, published(), kLazy),
                      CUDA_ERROR_INVALID_HANDLE);
        });
    });
    importer.wire().receive();
    exporter->kill_hard();
    EXPECT_EQ(node_.used(0), 10 * kMiB) << "the other 2 MiB went with the exporter";
    importer.wire().send();
    EXPECT_EQ(importer.join(), 0);
}

TEST_F(CudaIpc, ContextsCloseWhatTheyOpened) {
    const auto exporter = start_exporter(10 * kMiB);
    ChildProcess importer([this](Wire& wire) {
        with_cuda([&](const Library& cuda) {
            CUcontext context = nullptr;
            CUdeviceptr pointer = 0;
            ASSERT_EQ(CALL(cuda, cuCtxCreate_v2)(&context, 0, 0), CUDA_SUCCESS);
            ASSERT_EQ(CALL(cuda, cuIpcOpenMemHandle_v2)(&pointer, published(), kLazy),
                      CUDA_SUCCESS);
            wire.send();
            wire.receive();
            EXPECT_EQ(node_.used(0), 10 * kMiB);
            EXPECT_EQ(CALL(cuda, cuCtxDestroy_v2)(context), CUDA_SUCCESS);
            EXPECT_EQ(node_.used(0), 0U);
        });
    });
    importer.wire().receive();
    exporter->kill_hard();
    importer.wire().send();
    EXPECT_EQ(importer.join(), 0);
}

TEST_F(CudaIpc, RefusesWhatIsNoHandle) {
    with_context([](const Library& cuda) {
        CUdeviceptr pointer = 0;
        CUipcMemHandle handle = {};
        const auto open = CALL(cuda, cuIpcOpenMemHandle_v2);
        EXPECT_EQ(open(&pointer, handle, kLazy), CUDA_ERROR_INVALID_HANDLE);
        EXPECT_EQ(open(&pointer, handle, 0), CUDA_ERROR_INVALID_VALUE) << "the flag must be given";
        EXPECT_EQ(CALL(cuda, cuIpcGetMemHandle)(&handle, 4096), CUDA_ERROR_INVALID_VALUE);
        void* host = nullptr;
        ASSERT_EQ(CALL(cuda, cuMemAllocHost_v2)(&host, 10), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuIpcGetMemHandle)(&handle, reinterpret_cast<CUdeviceptr>(host)),
                  CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuIpcCloseMemHandle)(4096), CUDA_ERROR_INVALID_VALUE);
    });
}

}  // namespace
}  // namespace gpusim
