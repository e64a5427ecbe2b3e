// The memory pools of this process. A pool reserves more of the GPU than the program's allocations
// from it, and releases it late: when the program waits, or trims the pool. So a pool is charged
// for what the driver says that it has reserved, and its allocations are not charged.
//
// Before the driver is called, the guard reserves what the pool may grow by (reserve_growth()).
// Afterwards it releases what the pool has not grown by (settle_growth()). Other calls may run in
// between, and each may see growth that was for another. So the charge of a pool is at least what
// the driver reports, and at most that plus all reservations for growth.
//
// The guard could no longer query a pool that the program destroys while memory of it is in use. So
// a pool is destroyed when it is empty. Until then the program's handle is refused (is_ending()).
//
// A pool of host memory takes nothing of a GPU; this includes the driver's own.
//
// Imported pools are not charged here: the process that created them is charged for them.
//
// What a device keeps for graphs is a pool too, without a handle of the driver (graphs.hpp).
//
// Any thread. All functions require that begin() has succeeded.
#pragma once

#include <pthread.h>

#include <atomic>

#include "guard/base/table.hpp"
#include "guard/process/holdings.hpp"
#include "guard/process/process.hpp"

namespace tessera::guard {

struct Pool {
    CUmemoryPool handle;
    std::uint32_t number;  // unique in this process; not 0
    int gpu;
    AllocationUnits counted;
    AllocationUnits growth;    // reserved for allocations in progress
    AllocationUnits reserved;  // the driver's last answer
    std::uint32_t shrinks;     // how often it may have released memory
    bool is_made;              // created by the program, which may destroy it
    bool is_ending;
};

inline std::uint64_t key_of(CUmemoryPool pool) {
    return reinterpret_cast<std::uint64_t>(pool);
}
inline std::uint64_t key_of(const Pool& pool) {
    return key_of(pool.handle);
}

struct HostPool {
    CUmemoryPool handle;
};
inline std::uint64_t key_of(const HostPool& pool) {
    return key_of(pool.handle);
}

// Freed memory that the pool still has.
struct Freed {
    std::uint32_t pool;  // its number; 0: none
    std::uint64_t address;
    std::uint64_t bytes;
    CUcontext context;
    CUstream stream;       // of the context; it may use the memory again at once
    bool is_for_everyone;  // the stream has reached the free
};

inline constexpr unsigned kMaxFreed = 64;  // older ones are forgotten

// Zero at first, and again in a forked child.
struct Pools {
    pthread_mutex_t mutex;
    std::atomic<bool> may_shrink;  // something was freed, and some pool has memory
    std::uint32_t last_number;
    Table<Pool> all;
    Table<HostPool> of_host;
    Freed freed[kMaxFreed];
    unsigned next_freed;
};

// A stream-ordered allocation from a pool.
struct PoolRequest {
    CUmemoryPool pool;
    int gpu;
    CUcontext context;
    CUstream stream;
    std::uint64_t bytes;
};

// What was reserved for one allocation.
struct GrowthReservation {
    std::uint32_t pool;  // its number
    AllocationUnits units;
};

// Reserves what the pool may grow by. Reserves nothing if the pool surely has room: memory that was
// freed in the same stream, or whose free has been reached, can be used again.
// CUDA_ERROR_OUT_OF_MEMORY if the limit does not allow it.
CUresult reserve_growth(const PoolRequest& request, GrowthReservation& reservation);
// The driver was called and returned `address`; 0: it refused. False if the pool has grown by more
// than the reservation, and over the limit. Then it is charged, and the program must not get the
// memory.
bool settle_growth(const PoolRequest& request, const GrowthReservation& reservation,
                   std::uint64_t address);

// The GPU of the pool's memory, which need not be the GPU of the stream. -1 if the container has no
// share of it, kNoGpu (location.hpp) for host memory. `otherwise` if it is unknown.
int gpu_of_pool(CUmemoryPool pool, int otherwise);

// The program has created a pool, on a GPU of the container or with kNoGpu.
void note_pool(CUmemoryPool pool, int gpu);
// The program was given the handle of an existing pool.
void note_found_pool(CUmemoryPool pool, int gpu);
// The program has destroyed the pool.
void forget_host_pool(CUmemoryPool pool);
// Destroys the pool now or when it is empty. False if there is no record of it as the program's.
bool end_pool(CUmemoryPool pool);
bool is_ending(CUmemoryPool pool);

// A device's pool for graphs, as a handle that no driver returns.
inline CUmemoryPool graph_pool(int gpu) {
    return reinterpret_cast<CUmemoryPool>(static_cast<std::uintptr_t>(gpu) + 1);  // NOLINT
}
inline bool is_for_graphs(const Pool& pool) {
    return pool.handle == graph_pool(pool.gpu);
}
// How often the pool has shrunk, or may have; 0 if it never had memory.
std::uint32_t shrinks_of(CUmemoryPool pool);
// The program has trimmed the pool.
void note_trimmed(CUmemoryPool pool);

// The pool gets freed memory back, at once or in stream order.
void note_freed(const Holding& holding, CUstream stream, bool is_for_everyone);

// Counts again what pools have reserved and what pending frees hold, if something may have changed.
void look_at_pools();
// The same after a wait: the frees in the stream, or in all streams of the current context, have
// been reached.
void look_after_wait(CUstream stream);
void look_after_wait_for_all();
// The stream's handle may be another stream's from now on.
void forget_freed_in(CUstream stream);
// Makes the pools of the GPU release what they do not use, and releases finished frees. False if
// there is no pool and no free was finished.
bool give_unused_back(int gpu);

}  // namespace tessera::guard
