// cuMem*: device memory, played by anonymous pages of the process that cost nothing until touched.
#include <search.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "gpusim/cuda/driver.hpp"

using gpusim::Allocation;
using gpusim::Context;
using gpusim::driver;
using gpusim::Session;

namespace {

// Orders allocations by address; any overlap counts as equal, so that a lookup may name an inner
// byte.
int compare(const void* left, const void* right) {
    const auto* a = static_cast<const Allocation*>(left);
    const auto* b = static_cast<const Allocation*>(right);
    if (a->base + a->mapped_bytes <= b->base) return -1;
    return b->base + b->mapped_bytes <= a->base ? 1 : 0;
}

Allocation* find_allocation(CUdeviceptr pointer) {
    Allocation key = {};
    key.base = pointer;
    key.mapped_bytes = 1;
    void* found = tfind(&key, &driver.allocations, compare);
    return found != nullptr ? *static_cast<Allocation**>(found) : nullptr;
}

// A CUdeviceptr is an integer by the ABI, whatever that costs the optimizer.
void* address(CUdeviceptr pointer) {
    return reinterpret_cast<void*>(pointer);  // NOLINT(performance-no-int-to-ptr)
}

bool map_pages(Allocation& allocation) {
    void* pages = mmap(nullptr, allocation.mapped_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) return false;
    allocation.base = reinterpret_cast<CUdeviceptr>(pages);
    if (tsearch(&allocation, &driver.allocations, compare) != nullptr) return true;
    munmap(pages, allocation.mapped_bytes);
    return false;
}

void link_to_context(Allocation* allocation) {
    Context& context = *allocation->context;
    allocation->next = context.allocations;
    allocation->previous = nullptr;
    if (context.allocations != nullptr) context.allocations->previous = allocation;
    context.allocations = allocation;
}

void release(Allocation* allocation) {
    tdelete(allocation, &driver.allocations, compare);
    if (allocation->next != nullptr) allocation->next->previous = allocation->previous;
    if (allocation->previous != nullptr) {
        allocation->previous->next = allocation->next;
    } else {
        allocation->context->allocations = allocation->next;
    }
    munmap(address(allocation->base), allocation->mapped_bytes);
    gpusim::discharge(allocation->context->card, allocation->mapped_bytes, 0);
    std::free(allocation);
}

enum class Side { device, either };  // either: a host address will do

bool is_reachable(CUdeviceptr pointer, std::size_t bytes, Side side) {
    const Allocation* allocation = find_allocation(pointer);
    if (allocation == nullptr) return side == Side::either;
    const std::size_t offset = pointer - allocation->base;
    return offset <= allocation->bytes && bytes <= allocation->bytes - offset;
}

struct Copy {
    CUdeviceptr to;
    Side to_side;
    CUdeviceptr from;
    Side from_side;
    std::size_t bytes;
};

// The bytes move without the mutex held: a program that frees what it copies is wrong in any case.
CUresult copy(const Copy& wanted) {
    {
        const Session session;
        if (session.error() != CUDA_SUCCESS) return session.error();
        Context* context = nullptr;
        if (const CUresult error = gpusim::current_context(&context); error != CUDA_SUCCESS) {
            return error;
        }
        if (wanted.bytes == 0) return CUDA_SUCCESS;
        if (wanted.to == 0 || !is_reachable(wanted.to, wanted.bytes, wanted.to_side) ||
            wanted.from == 0 || !is_reachable(wanted.from, wanted.bytes, wanted.from_side)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    std::memmove(address(wanted.to), address(wanted.from), wanted.bytes);
    return CUDA_SUCCESS;
}

CUdeviceptr pointer_of(const void* host) {
    return reinterpret_cast<CUdeviceptr>(host);
}

}  // namespace

namespace gpusim {

void free_all(Context& context) {
    for (Allocation* allocation = context.allocations; allocation != nullptr;) {
        Allocation* next = allocation->next;
        release(allocation);
        allocation = next;
    }
}

}  // namespace gpusim

CUresult cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (free_bytes == nullptr || total_bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Context* context = nullptr;
    if (const CUresult error = gpusim::current_context(&context); error != CUDA_SUCCESS) {
        return error;
    }
    const std::uint64_t capacity = gpusim::capacity_bytes(gpusim::card_of(*context));
    const std::uint64_t used = gpusim::used_bytes(driver.state, context->card);
    *total_bytes = capacity;
    *free_bytes = used < capacity ? capacity - used : 0;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Context* context = nullptr;
    if (const CUresult error = gpusim::current_context(&context); error != CUDA_SUCCESS) {
        return error;
    }
    if (pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (bytes > gpusim::capacity_bytes(gpusim::card_of(*context))) return CUDA_ERROR_OUT_OF_MEMORY;
    auto* allocation = static_cast<Allocation*>(std::calloc(1, sizeof(Allocation)));
    if (allocation == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    allocation->bytes = bytes;
    allocation->mapped_bytes =
        (bytes + gpusim::kGranuleBytes - 1) / gpusim::kGranuleBytes * gpusim::kGranuleBytes;
    allocation->context = context;
    CUresult result = gpusim::charge(context->card, allocation->mapped_bytes, 0);
    if (result == CUDA_SUCCESS && !map_pages(*allocation)) {
        gpusim::discharge(context->card, allocation->mapped_bytes, 0);
        result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (result != CUDA_SUCCESS) {
        std::free(allocation);
        return result;
    }
    link_to_context(allocation);
    *pointer = allocation->base;
    return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Context* context = nullptr;
    if (const CUresult error = gpusim::current_context(&context); error != CUDA_SUCCESS) {
        return error;
    }
    Allocation* allocation = find_allocation(pointer);
    if (allocation == nullptr || allocation->base != pointer) return CUDA_ERROR_INVALID_VALUE;
    release(allocation);
    return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr pointer) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    const Allocation* allocation = find_allocation(pointer);
    if (allocation == nullptr || pointer >= allocation->base + allocation->bytes) {
        return CUDA_ERROR_NOT_FOUND;
    }
    if (base != nullptr) *base = allocation->base;
    if (bytes != nullptr) *bytes = allocation->bytes;
    return CUDA_SUCCESS;
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return copy({to, Side::either, from, Side::either, bytes});
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
    return copy({to, Side::device, pointer_of(from), Side::either, bytes});
}

CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
    return copy({pointer_of(to), Side::either, from, Side::device, bytes});
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return copy({to, Side::device, from, Side::device, bytes});
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
    {
        const Session session;
        if (session.error() != CUDA_SUCCESS) return session.error();
        Context* context = nullptr;
        if (const CUresult error = gpusim::current_context(&context); error != CUDA_SUCCESS) {
            return error;
        }
        if (count == 0) return CUDA_SUCCESS;
        if (!is_reachable(to, count, Side::device)) return CUDA_ERROR_INVALID_VALUE;
    }
    std::memset(address(to), value, count);
    return CUDA_SUCCESS;
}
