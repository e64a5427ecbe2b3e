// Goal: the device can use imported memory of another API, and it takes nothing of the GPU. Method:
// a memfd instead of Vulkan's memory.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpusim/test_support/cuda_test.hpp"

namespace gpusim {
namespace {

class CudaExternalMemory : public CudaTest {
  protected:
    static CUDA_EXTERNAL_MEMORY_HANDLE_DESC opaque(int fd, unsigned long long bytes) {
        CUDA_EXTERNAL_MEMORY_HANDLE_DESC descriptor = {};
        descriptor.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
        descriptor.handle.fd = fd;
        descriptor.size = bytes;
        return descriptor;
    }
    static CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer(unsigned long long offset,
                                                   unsigned long long bytes) {
        CUDA_EXTERNAL_MEMORY_BUFFER_DESC descriptor = {};
        descriptor.offset = offset;
        descriptor.size = bytes;
        return descriptor;
    }
};

TEST_F(CudaExternalMemory, IsMappedAndFreed) {
    with_context([this](const Library& cuda) {
        const int fd = memfd_create("vulkan", 0);
        ASSERT_EQ(ftruncate(fd, 4 * kMiB), 0);
        const int mine = dup(fd);
        CUexternalMemory memory = nullptr;
        CUdeviceptr pointer = 0;
        const auto wanted = opaque(fd, 4 * kMiB);
        const auto part = buffer(kMiB + 512, kMiB);
        ASSERT_EQ(CALL(cuda, cuImportExternalMemory)(&memory, &wanted), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuExternalMemoryGetMappedBuffer)(&pointer, memory, &part),
                  CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U);
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(pointer, 'v', kMiB), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(pointer, 'v', kMiB + 1), CUDA_ERROR_INVALID_VALUE);
        char seen[2] = {};
        EXPECT_EQ(pread(mine, seen, 2, kMiB + 511), 2);
        EXPECT_EQ(seen[0], '\0');
        EXPECT_EQ(seen[1], 'v');

        const auto outside = buffer(4 * kMiB - 1, 2);
        CUdeviceptr none = 0;
        EXPECT_EQ(CALL(cuda, cuExternalMemoryGetMappedBuffer)(&none, memory, &outside),
                  CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuExternalMemoryGetMappedMipmappedArray)(nullptr, memory, nullptr),
                  CUDA_ERROR_NOT_SUPPORTED);
        EXPECT_EQ(CALL(cuda, cuDestroyExternalMemory)(memory), CUDA_SUCCESS);
        EXPECT_EQ(fcntl(fd, F_GETFD), -1) << "the descriptor was the driver's";
        EXPECT_EQ(CALL(cuda, cuDestroyExternalMemory)(memory), CUDA_ERROR_INVALID_HANDLE);
        EXPECT_EQ(CALL(cuda, cuMemFree_v2)(pointer), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemFree_v2)(pointer), CUDA_ERROR_INVALID_VALUE);
    });
}

TEST_F(CudaExternalMemory, RefusesWhatItIsNot) {
    with_context([](const Library& cuda) {
        const auto import = CALL(cuda, cuImportExternalMemory);
        CUexternalMemory memory = nullptr;
        const int fd = memfd_create("vulkan", 0);
        int fds[2] = {};
        ASSERT_EQ(pipe(fds), 0);
        auto wanted = opaque(fd, 1);
        EXPECT_EQ(import(&memory, &wanted), CUDA_ERROR_INVALID_VALUE) << "the file is empty";
        wanted = opaque(fds[0], 1);
        EXPECT_EQ(import(&memory, &wanted), CUDA_ERROR_INVALID_HANDLE);
        wanted = opaque(-1, 1);
        EXPECT_EQ(import(&memory, &wanted), CUDA_ERROR_INVALID_HANDLE);
        wanted = opaque(fd, 0);
        EXPECT_EQ(import(&memory, &wanted), CUDA_ERROR_INVALID_VALUE);
        wanted.size = 1;
        wanted.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32;
        EXPECT_EQ(import(&memory, &wanted), CUDA_ERROR_NOT_SUPPORTED);
    });
}

}  // namespace
}  // namespace gpusim
