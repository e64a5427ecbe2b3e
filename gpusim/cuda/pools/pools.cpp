#include "gpusim/cuda/pools/pools.hpp"

#include <sys/mman.h>

#include <cstdlib>

#include "gpusim/cuda/driver/accounts.hpp"
#include "gpusim/cuda/graphs/graph_memory.hpp"
#include "gpusim/cuda/memory/blocks.hpp"
#include "gpusim/cuda/memory/device_memory.hpp"

namespace gpusim {

struct PooledRange;

struct Segment {
    CUdeviceptr base;
    std::size_t bytes;    // whole allocation units
    PooledRange* ranges;  // ordered by address
    Segment* next;
};

struct PooledRange : Range {
    Pool* pool;
    Segment* segment;
    Operation* free;  // the operation that frees it, with a reference; null: it is not being freed
    PooledRange* next_in_segment;
};

namespace {

constinit Pool default_pools[kMaxGpus] = {};
// For host memory, anywhere and on a node (the simulated host has one node), and for managed
// memory.
constinit Pool default_host_pools[2] = {};
constinit Pool default_managed_pool = {};
constinit Pool* pools = nullptr;

std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

int gpu_of(const Pool& pool) {
    return driver.devices.gpus[pool.device];
}

// Host memory takes nothing of a GPU.
CUresult take_for(const Pool& pool, std::uint64_t bytes) {
    return pool.kind == PoolKind::host ? CUDA_SUCCESS : take(gpu_of(pool), bytes);
}

void give_for(const Pool& pool, std::uint64_t bytes) {
    if (pool.kind != PoolKind::host) discharge(gpu_of(pool), bytes, 0);
}

bool is_unused(const Segment& segment) {
    return segment.ranges == nullptr;
}

// Releases unused segments while more than `bytes` are reserved, and keeps at least
// `bytes_to_keep`.
void give_segments(Pool& pool, std::uint64_t bytes, std::uint64_t bytes_to_keep) {
    for (Segment** link = &pool.segments; *link != nullptr && pool.reserved.now > bytes;) {
        Segment* segment = *link;
        if (!is_unused(*segment) || pool.reserved.now - segment->bytes < bytes_to_keep) {
            link = &segment->next;
            continue;
        }
        *link = segment->next;
        munmap(address(segment->base), segment->bytes);
        give_for(pool, segment->bytes);
        pool.reserved.now -= segment->bytes;
        std::free(segment);
    }
}

void give_back(Range* range) {
    auto* mine = static_cast<PooledRange*>(range);
    Pool& pool = *mine->pool;
    remove_range(*mine);
    PooledRange** link = &mine->segment->ranges;
    while (*link != mine)
        link = &(*link)->next_in_segment;
    *link = mine->next_in_segment;
    pool.used.now -= mine->extent;
    if (mine->free != nullptr) release(mine->free);
    std::free(mine);
    if (pool.is_destroyed && pool.used.now == 0) give_segments(pool, 0, 0);
}

// Where `bytes` fit in the segment, first fit; null if they do not.
PooledRange** find_gap(Segment& segment, std::size_t bytes, CUdeviceptr* at) {
    *at = segment.base;
    PooledRange** link = &segment.ranges;
    for (; *link != nullptr; link = &(*link)->next_in_segment) {
        if ((*link)->base - *at >= bytes) return link;
        *at = (*link)->base + (*link)->extent;
    }
    return segment.base + segment.bytes - *at >= bytes ? link : nullptr;
}

bool place(Pool& pool, PooledRange& range) {
    for (Segment* segment = pool.segments; segment != nullptr; segment = segment->next) {
        PooledRange** link = find_gap(*segment, range.extent, &range.base);
        if (link == nullptr) continue;
        range.segment = segment;
        range.next_in_segment = *link;
        *link = &range;
        return true;
    }
    return false;
}

CUresult grow(Pool& pool, std::size_t bytes) {
    const std::size_t whole = rounded_up(bytes, kAllocationUnitBytes);
    if (pool.most != 0 && whole > pool.most - pool.reserved.now) return CUDA_ERROR_OUT_OF_MEMORY;
    auto* segment = static_cast<Segment*>(std::calloc(1, sizeof(Segment)));
    if (segment == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = take_for(pool, whole);
    if (result == CUDA_SUCCESS) {
        void* pages = mmap(nullptr, whole, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (pages != MAP_FAILED) {
            *segment = {reinterpret_cast<CUdeviceptr>(pages), whole, nullptr, pool.segments};
            pool.segments = segment;
            raise(pool.reserved, whole);
            return CUDA_SUCCESS;
        }
        give_for(pool, whole);
        result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    std::free(segment);
    return result;
}

enum class Whose { the_streams, anyones };

// Removes a range that is being freed and is large enough. `*free` is its operation, with a
// reference.
bool reclaim(Pool& pool, const Stream& stream, std::size_t bytes, Whose whose, Operation** free) {
    for (Segment* segment = pool.segments; segment != nullptr; segment = segment->next) {
        for (PooledRange* range = segment->ranges; range != nullptr;
             range = range->next_in_segment) {
            if (range->free == nullptr || range->extent < bytes) continue;
            if (whose == Whose::the_streams && range->free->stream != &stream) continue;
            *free = refer(range->free);
            give_back(range);
            return true;
        }
    }
    return false;
}

// The stream waits for the operation before any work that it is given from now on.
CUresult wait_in_stream(Stream& stream, Operation* operation) {
    CUresult result = CUDA_SUCCESS;
    if (operation->stream != &stream && !is_done(*operation)) {
        Operation* marker = make_operation(Operation::Place::marker);
        result = marker != nullptr ? enqueue(stream, marker, operation) : CUDA_ERROR_OUT_OF_MEMORY;
    }
    release(operation);
    return result;
}

// Finds room by all means that the pool has, the cheapest first.
CUresult find_room(Pool& pool, Stream& stream, PooledRange& range) {
    move_on();
    Operation* free = nullptr;
    if (place(pool, range)) return CUDA_SUCCESS;
    if (reclaim(pool, stream, range.extent, Whose::the_streams, &free)) {
        release(free);
        if (place(pool, range)) return CUDA_SUCCESS;
    }
    CUresult result = grow(pool, range.extent);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        trim(pool, 0);
        result = grow(pool, range.extent);
    }
    if (result == CUDA_ERROR_OUT_OF_MEMORY && pool.may_wait != 0 &&
        reclaim(pool, stream, range.extent, Whose::anyones, &free)) {
        result = wait_in_stream(stream, free);
    }
    if (result != CUDA_SUCCESS) return result;
    return place(pool, range) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

// The operation that frees it; null if any operation may.
Operation** free_of(Range& range) {
    if (range.kind == RangeKind::pooled) return &static_cast<PooledRange&>(range).free;
    if (range.kind == RangeKind::graph) return &static_cast<GraphAllocation&>(range).free;
    return nullptr;
}

// The stream has reached the free. Another allocation may have its place by now, or its address.
void free_now(Operation& operation) {
    Range* range = find_freeable(operation.to);
    if (range == nullptr) return;
    Operation** free = free_of(*range);
    if (free == nullptr || *free == &operation) range->release(range);
}

// Managed memory without a preferred device is charged to the first device: a guess.
CUdevice device_of(PoolKind kind, CUmemLocation location) {
    if (kind == PoolKind::host) return -1;
    return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : 0;
}

void set_up(Pool& pool, PoolKind kind, CUmemLocation location) {
    pool.is_set_up = true;
    pool.kind = kind;
    pool.location = location;
    pool.device = device_of(kind, location);
    pool.may_follow_events = 1;
    pool.may_take_what_is_done = 1;
    pool.may_wait = 1;
    pool.next = pools;
    pools = &pool;
}

}  // namespace

Pool* make_pool(PoolKind kind, CUmemLocation location) {
    auto* pool = static_cast<Pool*>(std::calloc(1, sizeof(Pool)));
    if (pool != nullptr) set_up(*pool, kind, location);
    return pool;
}

Pool& default_pool(CUdevice device) {
    Pool& pool = default_pools[device];
    if (!pool.is_set_up) set_up(pool, PoolKind::device, {CU_MEM_LOCATION_TYPE_DEVICE, device});
    return pool;
}

Pool& default_pool(PoolKind kind, CUmemLocation location) {
    if (kind == PoolKind::device) return default_pool(location.id);
    const bool is_of_node = location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
    Pool& pool =
        kind == PoolKind::managed ? default_managed_pool : default_host_pools[is_of_node ? 1 : 0];
    if (!pool.is_set_up) set_up(pool, kind, location);
    return pool;
}

bool is_default(const Pool& pool) {
    return &pool == &default_managed_pool || &pool == &default_host_pools[0] ||
           &pool == &default_host_pools[1] ||
           (pool.kind == PoolKind::device && &pool == &default_pools[pool.device]);
}

CUmemoryPool handle_of(Pool& pool) {
    return reinterpret_cast<CUmemoryPool>(&pool);
}

CUmemoryPool pool_of(const Range& range) {
    if (range.kind != RangeKind::pooled) return nullptr;
    return handle_of(*static_cast<const PooledRange&>(range).pool);
}

bool is_of_managed_pool(const Range& range) {
    return range.kind == RangeKind::pooled &&
           static_cast<const PooledRange&>(range).pool->kind == PoolKind::managed;
}

Pool* find_pool(CUmemoryPool handle) {
    for (Pool* pool = pools; pool != nullptr; pool = pool->next) {
        if (handle_of(*pool) == handle) return pool->is_destroyed ? nullptr : pool;
    }
    return nullptr;
}

CUresult allocate_from(Pool& pool, Stream& stream, std::size_t bytes, CUdeviceptr* pointer) {
    if (pool.kind != PoolKind::host &&
        bytes > capacity_bytes(driver.state.file->gpus[gpu_of(pool)])) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    auto* range = static_cast<PooledRange*>(std::calloc(1, sizeof(PooledRange)));
    if (range == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    range->bytes = bytes;
    range->extent = rounded_up(bytes, kGrainBytes);
    range->kind = RangeKind::pooled;
    range->device = pool.device;
    range->release = give_back;
    range->pool = &pool;
    if (const CUresult error = find_room(pool, stream, *range); error != CUDA_SUCCESS) {
        std::free(range);
        return error;
    }
    raise(pool.used, range->extent);
    add_range(*range, stream.context);
    if (pool.kind == PoolKind::device) {  // access to host memory is not modelled
        range->readable = std::uint64_t{1} << pool.device;
        range->writable = range->readable;
    }
    *pointer = range->base;
    return CUDA_SUCCESS;
}

bool is_being_freed(const Range& range) {
    if (range.kind == RangeKind::graph) return !is_graph_memory_live(range);
    return range.kind == RangeKind::pooled &&
           static_cast<const PooledRange&>(range).free != nullptr;
}

CUresult free_in_order(Range& range, Stream& stream) {
    Operation* operation = make_operation(Operation::Place::marker);
    if (operation == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    operation->deed = free_now;
    operation->to = range.base;
    if (Operation** free = free_of(range); free != nullptr) *free = refer(operation);
    const CUdeviceptr base = range.base;
    const CUresult result = enqueue(stream, operation);
    if (result == CUDA_SUCCESS) {
        move_on();
        return result;
    }
    Range* still = find_freeable(base);
    Operation** free = still != nullptr ? free_of(*still) : nullptr;
    if (free != nullptr && *free == operation) {
        *free = nullptr;
        release(operation);
    }
    return result;
}

void trim(Pool& pool, std::uint64_t bytes_to_keep) {
    give_segments(pool, bytes_to_keep, bytes_to_keep);
}

void destroy(Pool& pool) {
    pool.is_destroyed = true;
    give_segments(pool, 0, 0);
}

void release_idle_memory() {
    for (Pool* pool = pools; pool != nullptr; pool = pool->next)
        give_segments(*pool, pool->threshold, 0);
}

}  // namespace gpusim
