// cuMem*: device memory, played by anonymous pages of the process that cost nothing until touched.
#include "gpusim/cuda/memory.hpp"

#include <search.h>
#include <sys/mman.h>

#include <cstdlib>

#include "gpusim/cuda/capture.hpp"
#include "gpusim/cuda/work.hpp"

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

void give_up(Allocation* allocation) {
    tdelete(allocation, &driver.allocations, compare);
    if (allocation->next != nullptr) allocation->next->previous = allocation->previous;
    if (allocation->previous != nullptr) {
        allocation->previous->next = allocation->next;
    } else {
        allocation->context->allocations = allocation->next;
    }
    munmap(gpusim::address(allocation->base), allocation->mapped_bytes);
    gpusim::discharge(allocation->context->card, allocation->mapped_bytes, 0);
    std::free(allocation);
}

}  // namespace

namespace gpusim {

void free_all(Context& context) {
    for (Allocation* allocation = context.allocations; allocation != nullptr;) {
        Allocation* next = allocation->next;
        give_up(allocation);
        allocation = next;
    }
}

bool is_device_memory(CUdeviceptr pointer) {
    return find_allocation(pointer) != nullptr;
}

bool is_reachable(CUdeviceptr pointer, std::size_t bytes, Side side) {
    const Allocation* allocation = find_allocation(pointer);
    if (allocation == nullptr) return side == Side::either;
    const std::size_t offset = pointer - allocation->base;
    return offset <= allocation->bytes && bytes <= allocation->bytes - offset;
}

CUresult allocate_memory(Context& context, std::size_t bytes, CUdeviceptr* pointer) {
    if (bytes > capacity_bytes(card_of(context))) return CUDA_ERROR_OUT_OF_MEMORY;
    auto* allocation = static_cast<Allocation*>(std::calloc(1, sizeof(Allocation)));
    if (allocation == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    allocation->bytes = bytes;
    allocation->mapped_bytes = (bytes + kGranuleBytes - 1) / kGranuleBytes * kGranuleBytes;
    allocation->context = &context;
    CUresult result = charge(context.card, allocation->mapped_bytes, 0);
    if (result == CUDA_SUCCESS && !map_pages(*allocation)) {
        discharge(context.card, allocation->mapped_bytes, 0);
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

CUresult free_memory(CUdeviceptr pointer) {
    Allocation* allocation = find_allocation(pointer);
    if (allocation == nullptr || allocation->base != pointer) return CUDA_ERROR_INVALID_VALUE;
    give_up(allocation);
    return CUDA_SUCCESS;
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
    if (const CUresult error = gpusim::check_unsafe_call(); error != CUDA_SUCCESS) return error;
    return gpusim::allocate_memory(*context, bytes, pointer);
}

// As the real one, it waits for all work of the context first.
CUresult cuMemFree_v2(CUdeviceptr pointer) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Context* context = nullptr;
    if (const CUresult error = gpusim::current_context(&context); error != CUDA_SUCCESS) {
        return error;
    }
    const Allocation* allocation = find_allocation(pointer);
    if (allocation == nullptr || allocation->base != pointer) return CUDA_ERROR_INVALID_VALUE;
    gpusim::wait_for(*context);
    return gpusim::free_memory(pointer);
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
