// Pools: memory of a GPU that a process keeps for stream-ordered allocations. A pool's `reserved`
// is what the GPU has given it, in segments of whole allocation units. Its `used` is what the
// program holds of that, in grains. Unused memory goes back to the GPU when the process next waits
// for a stream, an event or a context, down to the pool's threshold.
//
// If the stream has not reached an allocation's free, the same stream may use the memory again at
// once. Other streams may use it after they wait for the free. They do that before the pool reports
// that there is no memory. Every function requires a Session.
#pragma once

#include "gpusim/cuda/memory/address_book.hpp"
#include "gpusim/cuda/pools/level.hpp"
#include "gpusim/cuda/work/work.hpp"

namespace gpusim {

struct Segment;

// The location of a pool's memory. Managed memory is charged to the device, wherever its pages are.
enum class PoolKind { device, managed, host };

// A CUmemoryPool points to one. Never freed, so that no stale handle can become a valid one again.
struct Pool {
    PoolKind kind;
    CUmemLocation location;  // as requested
    CUdevice device;         // -1: host memory
    std::uint64_t most;      // bytes to reserve; 0: no limit
    std::uint64_t threshold;
    int may_follow_events;
    int may_take_what_is_done;
    int may_wait;
    bool is_set_up;
    bool is_destroyed;  // it gives no more memory, and is freed with its last allocation
    Level reserved;
    Level used;
    Segment* segments;
    Pool* next;
};

Pool* make_pool(PoolKind kind, CUmemLocation location);  // null without memory
Pool& default_pool(CUdevice device);
// The driver's own pool of host memory or of managed memory.
Pool& default_pool(PoolKind kind, CUmemLocation location);
bool is_default(const Pool& pool);
// Null for an invalid handle, or for a pool that was destroyed.
Pool* find_pool(CUmemoryPool handle);
CUmemoryPool handle_of(Pool& pool);
// Null for memory that is not from a pool.
CUmemoryPool pool_of(const Range& range);
bool is_of_managed_pool(const Range& range);

// CUDA_ERROR_OUT_OF_MEMORY if the GPU, or the pool's limit, does not have that much left.
CUresult allocate_from(Pool& pool, Stream& stream, std::size_t bytes, CUdeviceptr* pointer);
// Frees memory of a pool, a graph or cuMemAlloc in stream order.
CUresult free_in_order(Range& range, Stream& stream);
// True after free_in_order().
bool is_being_freed(const Range& range);

// Releases unused segments, and keeps at least `bytes_to_keep`.
void trim(Pool& pool, std::uint64_t bytes_to_keep);
void destroy(Pool& pool);

// Releases what is unused above the thresholds. Call it when the process has waited.
void release_idle_memory();

}  // namespace gpusim
