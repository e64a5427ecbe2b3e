// cuMemHost*: page-locked host memory, and the program's own memory that it registers. The device
// uses the host's addresses for both, because there is unified addressing. Neither takes memory of
// a GPU.
#include <sys/mman.h>

#include <cstdlib>

#include "gpusim/cuda/memory/address_book.hpp"
#include "gpusim/cuda/work/capture.hpp"
#include "gpusim/cuda/work/work.hpp"

using gpusim::Context;
using gpusim::Range;
using gpusim::RangeKind;
using gpusim::Session;

namespace {

constexpr unsigned kAllocationFlags =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
constexpr unsigned kRegistrationFlags =
    CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;
constexpr std::size_t kPageBytes = 4096;

struct HostRange : Range {
    unsigned flags;  // as given
};

CUdeviceptr pointer_of(const void* host) {
    return reinterpret_cast<CUdeviceptr>(host);
}

void release_allocated(Range* range) {
    gpusim::remove_range(*range);
    munmap(gpusim::address(range->base), range->extent);
    std::free(static_cast<HostRange*>(range));
}

void release_registered(Range* range) {
    gpusim::remove_range(*range);
    std::free(static_cast<HostRange*>(range));
}

HostRange* new_range(const Context& context, std::size_t bytes, unsigned flags) {
    auto* range = static_cast<HostRange*>(std::calloc(1, sizeof(HostRange)));
    if (range == nullptr) return nullptr;
    range->bytes = bytes;
    range->extent = bytes;
    range->device = context.device;
    range->flags = flags;
    return range;
}

HostRange* find_host_range(const void* host) {
    Range* range = gpusim::find_range(pointer_of(host));
    const bool is_host = range != nullptr &&
                         (range->kind == RangeKind::host || range->kind == RangeKind::registered);
    return is_host ? static_cast<HostRange*>(range) : nullptr;
}

CUresult allocate_host(void** pointer, std::size_t bytes, unsigned flags) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Context* context = nullptr;
    if (const CUresult error = gpusim::current_context(&context); error != CUDA_SUCCESS) {
        return error;
    }
    if (pointer == nullptr || bytes == 0 || (flags & ~kAllocationFlags) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (const CUresult error = gpusim::check_unsafe_call(); error != CUDA_SUCCESS) return error;
    void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    HostRange* range = new_range(*context, bytes, flags);
    if (range != nullptr) {
        range->base = pointer_of(pages);
        range->kind = RangeKind::host;
        range->release = release_allocated;
    }
    if (range == nullptr || !gpusim::add_range(*range, context)) {
        std::free(range);
        munmap(pages, bytes);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *pointer = pages;
    return CUDA_SUCCESS;
}

// msync is used here only to find out whether there are pages.
bool is_mapped(void* host, std::size_t bytes) {
    const CUdeviceptr start = pointer_of(host) / kPageBytes * kPageBytes;
    return msync(gpusim::address(start), bytes + (pointer_of(host) - start), MS_ASYNC) == 0;
}

}  // namespace

CUresult cuMemHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
    return allocate_host(pointer, bytes, flags);
}

CUresult cuMemAllocHost_v2(void** pointer, size_t bytes) {
    return allocate_host(pointer, bytes, 0);
}

CUresult cuMemAllocHost(void** pointer, unsigned int bytes) {
    return allocate_host(pointer, bytes, 0);
}

// As in the real driver, this first waits for all work of the context.
CUresult cuMemFreeHost(void* pointer) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Context* context = nullptr;
    if (const CUresult error = gpusim::current_context(&context); error != CUDA_SUCCESS) {
        return error;
    }
    gpusim::wait_for(*context);
    Range* range = gpusim::find_range(pointer_of(pointer), RangeKind::host);
    if (range == nullptr) return CUDA_ERROR_INVALID_VALUE;
    range->release(range);
    return CUDA_SUCCESS;
}

CUresult cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned int flags) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Context* context = nullptr;
    if (const CUresult error = gpusim::current_context(&context); error != CUDA_SUCCESS) {
        return error;
    }
    if ((flags & CU_MEMHOSTREGISTER_IOMEMORY) != 0) return CUDA_ERROR_NOT_SUPPORTED;
    if (pointer == nullptr || bytes == 0 || (flags & ~kRegistrationFlags) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!is_mapped(pointer, bytes)) return CUDA_ERROR_INVALID_VALUE;
    HostRange* range = new_range(*context, bytes, flags);
    if (range == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    range->base = pointer_of(pointer);
    range->kind = RangeKind::registered;
    range->release = release_registered;
    if (!gpusim::add_range(*range, context)) {
        std::free(range);
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    }
    if ((flags & CU_MEMHOSTREGISTER_READ_ONLY) != 0) range->writable = 0;
    return CUDA_SUCCESS;
}

// The versions differ in the flags that CUDA 6.5 made legal; here both accept them all.
CUresult cuMemHostRegister(void* pointer, size_t bytes, unsigned int flags) {
    return cuMemHostRegister_v2(pointer, bytes, flags);
}

CUresult cuMemHostUnregister(void* pointer) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Context* context = nullptr;
    if (const CUresult error = gpusim::current_context(&context); error != CUDA_SUCCESS) {
        return error;
    }
    if (pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Range* range = gpusim::find_range(pointer_of(pointer), RangeKind::registered);
    if (range == nullptr) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    range->release(range);
    return CUDA_SUCCESS;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* pointer, void* host, unsigned int flags) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (pointer == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (find_host_range(host) == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *pointer = pointer_of(host);
    return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned int* flags, void* host) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    const HostRange* range = find_host_range(host);
    if (flags == nullptr || range == nullptr || range->kind != RangeKind::host) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *flags = range->flags;
    return CUDA_SUCCESS;
}
