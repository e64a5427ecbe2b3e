// Pools: memory of a card that a process keeps for allocations that are made and freed in the order
// of a stream. What the card has given up is the pool's `reserved`, in segments of whole granules;
// what the program holds of that, in grains, is its `used`. What is unused goes back to the card
// when the process next waits for a stream, an event or a context, down to the pool's threshold.
//
// An allocation whose free has not had its turn in its stream may at once be had again by the same
// stream, and by others when they wait for it, which is what they do before the pool says that
// there is no memory. Every function wants a Session.
#pragma once

#include "gpusim/cuda/memory/address_book.hpp"
#include "gpusim/cuda/pools/level.hpp"
#include "gpusim/cuda/work/work.hpp"

namespace gpusim {

struct Segment;

// Whose memory a pool has. Managed memory counts as the device's, wherever its pages are.
enum class PoolKind { device, managed, host };

// A CUmemoryPool points to one. Never freed, so that no stale handle can become a valid one again.
struct Pool {
    PoolKind kind;
    CUmemLocation location;  // as it was asked for
    CUdevice device;         // -1: of the host
    std::uint64_t most;      // bytes to reserve; 0: no limit
    std::uint64_t threshold;
    int may_follow_events;
    int may_take_what_is_done;
    int may_wait;
    bool is_set_up;
    bool is_destroyed;  // it gives nothing more, and goes with its last allocation
    Level reserved;
    Level used;
    Segment* segments;
    Pool* next;
};

Pool* make_pool(PoolKind kind, CUmemLocation location);  // null without memory
Pool& default_pool(CUdevice device);
// The driver's own pool of the host's or of managed memory.
Pool& default_pool(PoolKind kind, CUmemLocation location);
bool is_default(const Pool& pool);
// Null for a handle that is none, or of a pool that was destroyed.
Pool* find_pool(CUmemoryPool handle);
CUmemoryPool handle_of(Pool& pool);
// Null for what is from no pool.
CUmemoryPool pool_of(const Range& range);
bool is_of_managed_pool(const Range& range);

// CUDA_ERROR_OUT_OF_MEMORY where the card, or the pool's limit, has not that much left.
CUresult allocate_from(Pool& pool, Stream& stream, std::size_t bytes, CUdeviceptr* pointer);
// Frees what is from a pool, a graph or cuMemAlloc when it is the stream's turn.
CUresult free_in_order(Range& range, Stream& stream);
// True from then on.
bool is_being_freed(const Range& range);

// Gives unused segments back while `bytes_to_keep` stay.
void trim(Pool& pool, std::uint64_t bytes_to_keep);
void destroy(Pool& pool);

// Gives back what is unused above the thresholds: to be called when the process has waited.
void release_idle_memory();

}  // namespace gpusim
