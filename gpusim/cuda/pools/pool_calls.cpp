// cuMemPool*, cuDevice*MemPool, and stream-ordered allocations.
#include <cstring>

#include "gpusim/cuda/graphs/graph_memory.hpp"
#include "gpusim/cuda/memory/device_memory.hpp"
#include "gpusim/cuda/pools/pools.hpp"
#include "gpusim/cuda/work/capture.hpp"

using gpusim::kMaxGpus;
using gpusim::Node;
using gpusim::Pool;
using gpusim::PoolKind;
using gpusim::Range;
using gpusim::RangeKind;
using gpusim::Session;
using gpusim::Stream;

namespace {

constinit Pool* current[kMaxGpus] = {};  // by CUdevice; null: the default
// For host memory anywhere, host memory on its node, and managed memory; null: the default.
constinit Pool* current_elsewhere[3] = {};

Pool& current_pool(CUdevice device) {
    return current[device] != nullptr ? *current[device] : gpusim::default_pool(device);
}

// The kind of a pool with this type at this location. A device has only one part, which is the
// whole device.
CUresult find_kind(CUmemLocation& location, CUmemAllocationType type, PoolKind& kind) {
    if (location.type == CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN) {
        const int part = location.id >> 8 & 0xff;
        if (part != 0 || type == CU_MEM_ALLOCATION_TYPE_MANAGED) return CUDA_ERROR_INVALID_VALUE;
        location = {CU_MEM_LOCATION_TYPE_DEVICE, location.id & 0xff};
    }
    const bool is_of_device = location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    const bool is_of_host = location.type == CU_MEM_LOCATION_TYPE_HOST ||
                            (location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA && location.id == 0);
    if (is_of_device && !gpusim::is_device(location.id)) return CUDA_ERROR_INVALID_VALUE;
    if (type == CU_MEM_ALLOCATION_TYPE_MANAGED) {
        kind = PoolKind::managed;
        const bool is_anywhere = location.type == CU_MEM_LOCATION_TYPE_INVALID;
        return is_of_device || is_of_host || is_anywhere ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    if (type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
    kind = is_of_device ? PoolKind::device : PoolKind::host;
    return is_of_device || is_of_host ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

Pool*& current_at(PoolKind kind, CUmemLocation location) {
    if (kind == PoolKind::device) return current[location.id];
    if (kind == PoolKind::managed) return current_elsewhere[2];
    return current_elsewhere[location.type == CU_MEM_LOCATION_TYPE_HOST ? 0 : 1];
}

enum class Which { that_is_set, built_in };

CUresult find_at(CUmemoryPool* pool, const CUmemLocation* location, CUmemAllocationType type,
                 Which which) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (pool == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUmemLocation at = *location;
    PoolKind kind = PoolKind::device;
    if (const CUresult error = find_kind(at, type, kind); error != CUDA_SUCCESS) return error;
    Pool* set = which == Which::that_is_set ? current_at(kind, at) : nullptr;
    *pool = gpusim::handle_of(set != nullptr ? *set : gpusim::default_pool(kind, at));
    return CUDA_SUCCESS;
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

#ifdef GPUSIM_NEWER
// What drivers report about a pool since CUDA 13.
bool tell_place(const Pool& pool, CUmemPool_attribute attribute, void* value) {
    switch (attribute) {
        case CU_MEMPOOL_ATTR_ALLOCATION_TYPE: {
            const auto type = pool.kind == PoolKind::managed ? CU_MEM_ALLOCATION_TYPE_MANAGED
                                                             : CU_MEM_ALLOCATION_TYPE_PINNED;
            std::memcpy(value, &type, sizeof type);
            return true;
        }
        case CU_MEMPOOL_ATTR_LOCATION_ID:
            std::memcpy(value, &pool.location.id, sizeof pool.location.id);
            return true;
        case CU_MEMPOOL_ATTR_LOCATION_TYPE:
            std::memcpy(value, &pool.location.type, sizeof pool.location.type);
            return true;
        default:
            return false;
    }
}
#endif

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
    // In a graph, only the pool's device counts.
    if (pool->kind != PoolKind::device) return gpusim::spoil(*stream, CUDA_ERROR_NOT_SUPPORTED);
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

CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation* location,
                                CUmemAllocationType type) {
    return find_at(pool, location, type, Which::built_in);
}

CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
    return find_at(pool, location, type, Which::that_is_set);
}

CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUmemLocation at = *location;
    PoolKind kind = PoolKind::device;
    if (const CUresult error = find_kind(at, type, kind); error != CUDA_SUCCESS) return error;
    Pool* pool = gpusim::find_pool(handle);
    if (pool == nullptr || pool->kind != kind || pool->location.type != at.type ||
        (kind == PoolKind::device && pool->device != at.id)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    current_at(kind, at) = pool;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (pool == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUmemLocation location = properties->location;
    PoolKind kind = PoolKind::device;
    const CUresult error = find_kind(location, properties->allocType, kind);
    if (error != CUDA_SUCCESS) return error;
    if (properties->handleTypes != CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_NOT_SUPPORTED;
    Pool* made = gpusim::make_pool(kind, location);
    if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    made->most = properties->maxSize;
    *pool = gpusim::handle_of(*made);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Pool* pool = gpusim::find_pool(handle);
    if (pool == nullptr || gpusim::is_default(*pool)) return CUDA_ERROR_INVALID_VALUE;
    Pool*& set = current_at(pool->kind, pool->location);
    if (set == pool) set = nullptr;
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
#ifdef GPUSIM_NEWER
    if (tell_place(*pool, attribute, value)) return CUDA_SUCCESS;
#endif
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

// Peers are not modelled, and a device always has access to its own memory.
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
