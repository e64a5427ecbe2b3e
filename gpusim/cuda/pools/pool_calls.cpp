// cuMemPool*, cuDevice*MemPool, and the allocations that are ordered by a stream.
#include <cstring>

#include "gpusim/cuda/graphs/graph_memory.hpp"
#include "gpusim/cuda/memory/device_memory.hpp"
#include "gpusim/cuda/pools/pools.hpp"
#include "gpusim/cuda/work/capture.hpp"

using gpusim::kMaxCards;
using gpusim::Node;
using gpusim::Pool;
using gpusim::Range;
using gpusim::RangeKind;
using gpusim::Session;
using gpusim::Stream;

namespace {

constinit Pool* current[kMaxCards] = {};  // by CUdevice; null: the default

Pool& current_pool(CUdevice device) {
    return current[device] != nullptr ? *current[device] : gpusim::default_pool(device);
}

int* flag_of(Pool& pool, CUmemPool_attribute attribute) {
    switch (attribute) {
        case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
            return &pool.may_follow_events;
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
            return &pool.may_take_what_is_done;
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
            return &pool.may_wait;
        default:
            return nullptr;
    }
}

std::uint64_t* number_of(Pool& pool, CUmemPool_attribute attribute) {
    switch (attribute) {
        case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
            return &pool.threshold;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
            return &pool.reserved.now;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
            return &pool.reserved.high;
        case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
            return &pool.used.now;
        case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
            return &pool.used.high;
        default:
            return nullptr;
    }
}

CUresult set_number(Pool& pool, CUmemPool_attribute attribute, std::uint64_t value) {
    switch (attribute) {
        case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
            pool.threshold = value;
            return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
            return gpusim::set_high(pool.reserved, value);
        case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
            return gpusim::set_high(pool.used, value);
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult allocate(CUdeviceptr* pointer, std::size_t bytes, Pool* pool, CUstream handle) {
    Stream* stream = nullptr;
    if (const CUresult error = gpusim::find_stream(handle, &stream); error != CUDA_SUCCESS) {
        return error;
    }
    if (pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (pool == nullptr) pool = &current_pool(stream->context->device);
    if (stream->capture == nullptr) return gpusim::allocate_from(*pool, *stream, bytes, pointer);
    // Of the pool, a graph takes the device alone.
    Node* node = nullptr;
    const CUresult error =
        gpusim::make_allocation_node(*stream->capture->graph, pool->device, bytes, &node);
    if (error != CUDA_SUCCESS) return gpusim::spoil(*stream, error);
    *pointer = node->memory->base;
    return gpusim::record(*stream, node);
}

CUresult record_free(Stream& stream, CUdeviceptr pointer) {
    Node* node = nullptr;
    const CUresult error = gpusim::make_free_node(*stream.capture->graph, pointer, &node);
    return error == CUDA_SUCCESS ? gpusim::record(stream, node) : error;
}

}  // namespace

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!gpusim::is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    *pool = gpusim::handle_of(gpusim::default_pool(device));
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!gpusim::is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    *pool = gpusim::handle_of(current_pool(device));
    return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (!gpusim::is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    Pool* pool = gpusim::find_pool(handle);
    if (pool == nullptr || pool->device != device) return CUDA_ERROR_INVALID_VALUE;
    current[device] = pool;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (pool == nullptr || properties == nullptr ||
        properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (properties->handleTypes != CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_NOT_SUPPORTED;
    if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
    if (!gpusim::is_device(properties->location.id)) return CUDA_ERROR_INVALID_VALUE;
    Pool* made = gpusim::make_pool(properties->location.id);
    if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    made->most = properties->maxSize;
    *pool = gpusim::handle_of(*made);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Pool* pool = gpusim::find_pool(handle);
    if (pool == nullptr || pool == &gpusim::default_pool(pool->device)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (current[pool->device] == pool) current[pool->device] = nullptr;
    gpusim::destroy(*pool);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Pool* pool = gpusim::find_pool(handle);
    if (pool == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (int* flag = flag_of(*pool, attribute); flag != nullptr) {
        std::memcpy(flag, value, sizeof *flag);
        return CUDA_SUCCESS;
    }
    std::uint64_t number = 0;
    std::memcpy(&number, value, sizeof number);
    return set_number(*pool, attribute, number);
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Pool* pool = gpusim::find_pool(handle);
    if (pool == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    gpusim::move_on();
    if (const int* flag = flag_of(*pool, attribute); flag != nullptr) {
        std::memcpy(value, flag, sizeof *flag);
        return CUDA_SUCCESS;
    }
    const std::uint64_t* number = number_of(*pool, attribute);
    if (number == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(value, number, sizeof *number);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t bytes_to_keep) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Pool* pool = gpusim::find_pool(handle);
    if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
    gpusim::move_on();
    gpusim::trim(*pool, bytes_to_keep);
    return CUDA_SUCCESS;
}

// Peers are not modelled, and a device cannot be kept from its own memory.
CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc* accesses, size_t count) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    const Pool* pool = gpusim::find_pool(handle);
    if (pool == nullptr || (accesses == nullptr && count > 0)) return CUDA_ERROR_INVALID_VALUE;
    for (std::size_t i = 0; i < count; i++) {
        const auto [location, flags] = accesses[i];
        if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
        if (!gpusim::is_device(location.id)) return CUDA_ERROR_INVALID_DEVICE;
        const bool is_own = location.id == pool->device;
        if (is_own && flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) return CUDA_ERROR_INVALID_VALUE;
        if (!is_own && flags != CU_MEM_ACCESS_FLAGS_PROT_NONE) return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool handle,
                            CUmemLocation* location) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    const Pool* pool = gpusim::find_pool(handle);
    if (flags == nullptr || pool == nullptr || location == nullptr ||
        location->type != CU_MEM_LOCATION_TYPE_DEVICE) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!gpusim::is_device(location->id)) return CUDA_ERROR_INVALID_DEVICE;
    *flags = location->id == pool->device ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                          : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
}

CUresult cuMemAllocAsync(CUdeviceptr* pointer, size_t bytes, CUstream stream) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    return allocate(pointer, bytes, nullptr, stream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* pointer, size_t bytes, CUmemoryPool handle,
                                 CUstream stream) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Pool* pool = gpusim::find_pool(handle);
    if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return allocate(pointer, bytes, pool, stream);
}

CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Stream* stream = nullptr;
    if (const CUresult error = gpusim::find_stream(handle, &stream); error != CUDA_SUCCESS) {
        return error;
    }
    if (stream->capture != nullptr) return record_free(*stream, pointer);
    Range* range = gpusim::find_freeable(pointer);
    if (range == nullptr || range->kind == RangeKind::external || gpusim::is_being_freed(*range)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return gpusim::free_in_order(*range, *stream);
}
