// Goal: memory that one process exports and others import counts once, while any of them has it,
// however the others end. Method: forked children that pass descriptors.
#include <unistd.h>

#include "gpusim/test_support/cuda_test.hpp"
#include "gpusim/test_support/descriptor_pipe.hpp"

namespace gpusim {
namespace {

constexpr std::size_t kBytes = 64 * kMiB;
constexpr auto kDescriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
constexpr CUmemAccessDesc kReadWrite = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                        CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

// A process with a context on device 0, and the virtual memory that a test gives it.
struct Sharer {
    explicit Sharer(const std::filesystem::path& library) : cuda(library) {
        CUcontext context = nullptr;
        EXPECT_EQ(CALL(cuda, cuInit)(0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxCreate_v2)(&context, 0, 0), CUDA_SUCCESS);
    }

    void create() {
        CUmemAllocationProp properties = {};
        properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.requestedHandleTypes = kDescriptor;
        properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
        EXPECT_EQ(CALL(cuda, cuMemCreate)(&handle, kBytes, &properties, 0), CUDA_SUCCESS);
    }
    int exported() const {
        int fd = -1;
        EXPECT_EQ(CALL(cuda, cuMemExportToShareableHandle)(&fd, handle, kDescriptor, 0),
                  CUDA_SUCCESS);
        return fd;
    }
    CUresult import(int fd) {
        return CALL(cuda, cuMemImportFromShareableHandle)(
            &handle, as_pointer(static_cast<CUdeviceptr>(fd)), kDescriptor);
    }
    void map() {
        EXPECT_EQ(CALL(cuda, cuMemAddressReserve)(&pointer, kBytes, 0, 0, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemMap)(pointer, kBytes, 0, handle, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemSetAccess)(pointer, kBytes, &kReadWrite, 1), CUDA_SUCCESS);
    }
    void release() const { EXPECT_EQ(CALL(cuda, cuMemRelease)(handle), CUDA_SUCCESS); }
    void unmap() const { EXPECT_EQ(CALL(cuda, cuMemUnmap)(pointer, kBytes), CUDA_SUCCESS); }
    void write(char byte) const {
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(pointer, static_cast<unsigned char>(byte), kBytes),
                  CUDA_SUCCESS);
    }
    char read() const {
        char byte = 0;
        EXPECT_EQ(CALL(cuda, cuMemcpyDtoH_v2)(&byte, pointer + kBytes - 1, 1), CUDA_SUCCESS);
        return byte;
    }

    Library cuda;
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr pointer = 0;
};

class CudaShareableMemory : public CudaTest {
  protected:
    DescriptorPipe pipe_;

    // Creates memory, writes 'c', sends the descriptor and ends on a command or a kill.
    std::unique_ptr<ChildProcess> start_creator() {
        auto creator = std::make_unique<ChildProcess>([this](Wire& wire) {
            Sharer sharer(library());
            sharer.create();
            sharer.map();
            sharer.write('c');
            const int fd = sharer.exported();
            pipe_.send(fd);
            close(fd);
            wire.send();
            wire.receive();
        });
        EXPECT_EQ(creator->wire().receive(), 1U);
        return creator;
    }
};

TEST_F(CudaShareableMemory, IsThereOnce) {
    const auto creator = start_creator();
    EXPECT_EQ(node_.used(0), kBytes);
    in_child([this] {
        Sharer sharer(library());
        const int fd = pipe_.receive();
        ASSERT_EQ(sharer.import(fd), CUDA_SUCCESS);
        close(fd);
        CUmemAllocationProp properties = {};
        EXPECT_EQ(
            CALL(sharer.cuda, cuMemGetAllocationPropertiesFromHandle)(&properties, sharer.handle),
            CUDA_SUCCESS);
        EXPECT_EQ(properties.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
        EXPECT_EQ(properties.location.id, 0);
        sharer.map();
        EXPECT_EQ(sharer.read(), 'c');
        EXPECT_EQ(node_.used(0), kBytes);
        sharer.release();
        EXPECT_EQ(sharer.read(), 'c');
        EXPECT_NE(output_of(TESSERA_BINARY_DIR "/bin/gpusimctl show " + node_.root().string())
                      .find("used 67108864 bytes, contexts 1"),
                  std::string::npos)
            << "counted to the process that made it";
    });
    EXPECT_EQ(node_.used(0), kBytes);
    creator->wire().send();
    EXPECT_EQ(creator->join(), 0);
    EXPECT_EQ(node_.used(0), 0U);
}

TEST_F(CudaShareableMemory, OutlivesItsKilledCreator) {
    const auto creator = start_creator();
    ChildProcess importer([this](Wire& wire) {
        Sharer sharer(library());
        const int fd = pipe_.receive();
        ASSERT_EQ(sharer.import(fd), CUDA_SUCCESS);
        close(fd);
        wire.send();
        wire.receive();
        sharer.map();
        EXPECT_EQ(sharer.read(), 'c');
        sharer.release();
        EXPECT_EQ(node_.used(0), kBytes);
        sharer.unmap();
        EXPECT_EQ(node_.used(0), 0U);
    });
    importer.wire().receive();
    creator->kill_hard();
    EXPECT_EQ(node_.used(0), kBytes);
    in_child([this] {
        const Sharer newcomer(library());
        CUdeviceptr pointer = 0;
        EXPECT_EQ(CALL(newcomer.cuda, cuMemAlloc_v2)(&pointer, kGiB), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(CALL(newcomer.cuda, cuMemAlloc_v2)(&pointer, kGiB - kBytes), CUDA_SUCCESS)
            << "in the slot of the dead one";
        EXPECT_EQ(node_.used(0), kGiB);
    });
    EXPECT_EQ(node_.used(0), kBytes);
    importer.wire().send();
    EXPECT_EQ(importer.join(), 0);
    EXPECT_EQ(node_.used(0), 0U);
}

TEST_F(CudaShareableMemory, GoesWhenTheKilledImporterWasTheLast) {
    const auto creator = start_creator();
    ChildProcess importer([this](Wire& wire) {
        Sharer sharer(library());
        const int fd = pipe_.receive();
        EXPECT_EQ(sharer.import(fd), CUDA_SUCCESS);
        close(fd);
        wire.send();
        wire.receive();
    });
    importer.wire().receive();
    creator->wire().send();
    EXPECT_EQ(creator->join(), 0);
    EXPECT_EQ(node_.used(0), kBytes);
    importer.kill_hard();
    EXPECT_EQ(node_.used(0), 0U);
}

// A descriptor alone keeps it, even in a message that no process has read.
TEST_F(CudaShareableMemory, IsKeptByADescriptor) {
    start_creator()->kill_hard();
    EXPECT_EQ(node_.used(0), kBytes);
    const int fd = pipe_.receive();
    EXPECT_EQ(node_.used(0), kBytes);
    in_child([&] {
        Sharer sharer(library());
        ASSERT_EQ(sharer.import(fd), CUDA_SUCCESS);
        sharer.map();
        EXPECT_EQ(sharer.read(), 'c');
    });
    EXPECT_EQ(node_.used(0), kBytes);
    close(fd);
    EXPECT_EQ(node_.used(0), 0U);
}

TEST_F(CudaShareableMemory, CreatorMayLetGoFirst) {
    ChildProcess creator([this](Wire& wire) {
        Sharer sharer(library());
        sharer.create();
        const int fd = sharer.exported();
        sharer.release();
        EXPECT_EQ(node_.used(0), kBytes) << "the descriptor counts";
        ASSERT_EQ(sharer.import(fd), CUDA_SUCCESS) << "back from its own descriptor";
        close(fd);
        pipe_.send(sharer.exported());
        wire.send();
        wire.receive();
    });
    creator.wire().receive();
    const int fd = pipe_.receive();
    creator.wire().send();
    EXPECT_EQ(creator.join(), 0);
    EXPECT_EQ(node_.used(0), kBytes);
    close(fd);
    EXPECT_EQ(node_.used(0), 0U);
}

TEST_F(CudaShareableMemory, RefusesWhatIsNotExported) {
    in_child([this] {
        Sharer sharer(library());
        int fds[2] = {-1, -1};
        ASSERT_EQ(pipe(fds), 0);
        EXPECT_EQ(sharer.import(fds[0]), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(sharer.import(-1), CUDA_ERROR_INVALID_VALUE);
        CUmemAllocationProp properties = {};
        properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
        ASSERT_EQ(CALL(sharer.cuda, cuMemCreate)(&sharer.handle, kBytes, &properties, 0),
                  CUDA_SUCCESS);
        int fd = -1;
        const auto export_it = CALL(sharer.cuda, cuMemExportToShareableHandle);
        EXPECT_EQ(export_it(&fd, sharer.handle, kDescriptor, 0), CUDA_ERROR_INVALID_VALUE)
            << "created without that type";
        EXPECT_EQ(export_it(&fd, sharer.handle, CU_MEM_HANDLE_TYPE_FABRIC, 0),
                  CUDA_ERROR_NOT_SUPPORTED);
    });
}

TEST_F(CudaShareableMemory, ManyComeAndGo) {
    in_child([this] {
        Sharer sharer(library());
        for (int round = 0; round < 300; round++) {
            sharer.create();
            const int fd = sharer.exported();
            sharer.release();
            ASSERT_EQ(node_.used(0), kBytes);
            close(fd);
            ASSERT_EQ(node_.used(0), 0U);
        }
    });
}

TEST_F(CudaShareableMemory, KillAtAnyInstantLeavesGoodState) {
    for (int round = 0; round < 40; round++) {
        ChildProcess child([this, round](Wire& wire) {
            Sharer sharer(library());
            wire.send();
            for (int i = 0;; i++) {
                sharer.create();
                const int fd = sharer.exported();
                if (i % 2 == 0) sharer.release();
                close(fd);
                if (i % 2 != 0) sharer.release();
                if (i == round * 5) wire.send();
            }
        });
        child.wire().receive();
        child.wire().receive();
        child.kill_hard();
        ASSERT_EQ(node_.used(0), 0U) << "round " << round;
    }
    in_child([this] {
        Sharer sharer(library());
        sharer.create();
        sharer.map();
        EXPECT_EQ(sharer.read(), '\0') << "zeros, whichever process had it before";
        EXPECT_EQ(node_.used(0), kBytes);
    });
}

}  // namespace
}  // namespace gpusim
