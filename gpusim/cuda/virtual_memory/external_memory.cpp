// External memory: memory that another API made. Here it is the file behind a descriptor (a memfd
// plays Vulkan's memory). It takes no memory of a GPU: the API that made it has taken that.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "gpusim/cuda/memory/address_book.hpp"

using gpusim::Context;
using gpusim::Range;
using gpusim::Session;

struct CUextMemory_st {
    int fd;
    unsigned long long bytes;
    CUextMemory_st* next;
};

namespace {

constexpr unsigned long long kPageBytes = 4096;

constinit CUextMemory_st* memories = nullptr;

CUextMemory_st** find(CUexternalMemory handle) {
    for (CUextMemory_st** link = &memories; *link != nullptr; link = &(*link)->next) {
        if (*link == handle) return link;
    }
    return nullptr;
}

// -1 if it is not a file.
long long size_of(int fd) {
    struct statx about = {};
    if (statx(fd, "", AT_EMPTY_PATH, STATX_SIZE | STATX_TYPE, &about) != 0) return -1;
    return S_ISREG(about.stx_mode) ? static_cast<long long>(about.stx_size) : -1;
}

// The mapping begins with the page that the buffer begins in.
void unmap(Range* range) {
    gpusim::remove_range(*range);
    const CUdeviceptr start = range->base / kPageBytes * kPageBytes;
    munmap(gpusim::address(start), range->bytes + (range->base - start));
    std::free(range);
}

}  // namespace

CUresult cuImportExternalMemory(CUexternalMemory* memory,
                                const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* descriptor) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Context* context = nullptr;
    if (const CUresult error = gpusim::current_context(&context); error != CUDA_SUCCESS) {
        return error;
    }
    if (memory == nullptr || descriptor == nullptr || descriptor->size == 0 ||
        (descriptor->flags & ~unsigned{CUDA_EXTERNAL_MEMORY_DEDICATED}) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (descriptor->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    const long long bytes = size_of(descriptor->handle.fd);
    if (bytes < 0) return CUDA_ERROR_INVALID_HANDLE;
    if (descriptor->size > static_cast<unsigned long long>(bytes)) return CUDA_ERROR_INVALID_VALUE;
    auto* made = static_cast<CUextMemory_st*>(std::calloc(1, sizeof(CUextMemory_st)));
    if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    *made = {descriptor->handle.fd, descriptor->size, memories};  // the descriptor is ours now
    memories = made;
    *memory = made;
    return CUDA_SUCCESS;
}

CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr* pointer, CUexternalMemory handle,
                                         const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* descriptor) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Context* context = nullptr;
    if (const CUresult error = gpusim::current_context(&context); error != CUDA_SUCCESS) {
        return error;
    }
    CUextMemory_st** memory = find(handle);
    if (memory == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (pointer == nullptr || descriptor == nullptr || descriptor->flags != 0 ||
        descriptor->size == 0 || descriptor->offset > (*memory)->bytes ||
        descriptor->size > (*memory)->bytes - descriptor->offset) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    auto* range = static_cast<Range*>(std::calloc(1, sizeof(Range)));
    if (range == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    const unsigned long long inside = descriptor->offset % kPageBytes;
    void* pages = mmap(nullptr, descriptor->size + inside, PROT_READ | PROT_WRITE, MAP_SHARED,
                       (*memory)->fd, static_cast<off_t>(descriptor->offset - inside));
    if (pages == MAP_FAILED) {
        std::free(range);
        return CUDA_ERROR_INVALID_VALUE;
    }
    range->base = reinterpret_cast<CUdeviceptr>(pages) + inside;
    range->bytes = descriptor->size;
    range->extent = descriptor->size;
    range->kind = gpusim::RangeKind::external;
    range->device = context->device;
    range->release = unmap;
    if (!gpusim::add_range(*range, context)) {
        munmap(pages, descriptor->size + inside);
        std::free(range);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *pointer = range->base;
    return CUDA_SUCCESS;
}

// No external memory here has the layout of an array.
CUresult cuExternalMemoryGetMappedMipmappedArray(
    CUmipmappedArray* /*mipmap*/, CUexternalMemory /*memory*/,
    const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC* /*descriptor*/) {
    const Session session;
    return session.error() != CUDA_SUCCESS ? session.error() : CUDA_ERROR_NOT_SUPPORTED;
}

// Buffers stay until they are freed.
CUresult cuDestroyExternalMemory(CUexternalMemory handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    CUextMemory_st** link = find(handle);
    if (link == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    CUextMemory_st* memory = *link;
    *link = memory->next;
    close(memory->fd);
    std::free(memory);
    return CUDA_SUCCESS;
}
