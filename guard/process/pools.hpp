// The memory pools of this process. A pool has reserved more of the card than the program holds of
// it, and gives it back late: when the program waits, or has it trimmed. So a pool counts for what
// the driver says that it has reserved, and its allocations for nothing.
//
// What a pool may grow by is set aside before the driver is asked (promise()), and given back
// afterwards as far as the pool has not grown (keep()). In between other calls may come and go,
// each of which may see what the pool has grown by for another. So a pool counts for no less than
// it says that it has, and for no more than that and all that is promised.
//
// A pool that the program destroys while it holds memory still could not be asked any more. So it
// is destroyed when it is empty; until then the program's handle is refused (is_ending()).
//
// A pool of the host's memory takes nothing of a card, also the driver's own.
//
// Imported pools take nothing of the card: who made them counts them.
//
// What a device keeps for graphs is a pool too, without a handle of the driver's (graphs.hpp).
//
// Any thread. All want begin() to have succeeded.
#pragma once

#include <pthread.h>

#include <atomic>

#include "guard/process/holdings.hpp"
#include "guard/process/process.hpp"
#include "guard/process/table.hpp"

namespace tessera::guard {

struct Pool {
    CUmemoryPool handle;
    std::uint32_t number;  // no other has it in this process; not 0
    int card;
    Granules counted;
    Granules promised;      // to allocations that are under way
    Granules reserved;      // as the driver said last
    std::uint32_t shrinks;  // how often it may have given something back
    bool is_made;           // by the program, which may destroy it
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

// Memory of a pool that was freed and that the pool still has.
struct Freed {
    std::uint32_t pool;  // its number; 0: none
    std::uint64_t address;
    std::uint64_t bytes;
    CUcontext context;
    CUstream stream;       // of it, that may have it again at once
    bool is_for_everyone;  // it has had its turn
};

inline constexpr unsigned kMaxFreed = 64;  // of older ones it is not known that they are there

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

// An allocation from a pool, in the order of a stream.
struct PoolRequest {
    CUmemoryPool pool;
    int card;
    CUcontext context;
    CUstream stream;
    std::uint64_t bytes;
};

// What was set aside for one.
struct Promise {
    std::uint32_t pool;  // its number
    Granules granules;
};

// Sets aside what the pool may grow by: nothing where it surely has the room, for what was freed
// in that stream, or has had its turn, can be had again. CUDA_ERROR_OUT_OF_MEMORY where there is no
// room for it.
CUresult promise(const PoolRequest& request, Promise& promised);
// The driver has been asked, and gave `address`; 0: it refused. False where the pool has grown
// further than was set aside, and over the limit: it counts, and the program is not to have it.
bool keep(const PoolRequest& request, const Promise& promised, std::uint64_t address);

// The card that the pool's memory is of, which need not be that of the stream that it is asked in:
// -1 where the container has no share of it, kNoCard (location.hpp) where it is the host's.
// `otherwise` where it is not known.
int card_of_pool(CUmemoryPool pool, int otherwise);

// Of a pool that the program has made, on a card of the container or kNoCard.
void note_pool(CUmemoryPool pool, int card);
// Of one that is there, and that the program was given the handle of.
void note_found_pool(CUmemoryPool pool, int card);
// The program has destroyed it.
void forget_host_pool(CUmemoryPool pool);
// Destroys the pool, or says that it is ending. False where it is none that was noted.
bool end_pool(CUmemoryPool pool);
bool is_ending(CUmemoryPool pool);

// A device's pool for graphs, as a handle that no driver gives.
inline CUmemoryPool graph_pool(int card) {
    return reinterpret_cast<CUmemoryPool>(static_cast<std::uintptr_t>(card) + 1);  // NOLINT
}
inline bool is_for_graphs(const Pool& pool) {
    return pool.handle == graph_pool(pool.card);
}
// How often the pool has shrunk, or may have; 0 where it has never had anything.
std::uint32_t shrinks_of(CUmemoryPool pool);
// The program has trimmed it.
void note_trimmed(CUmemoryPool pool);

// What was freed is the pool's, at once or at the stream's turn.
void note_freed(const Holding& holding, CUstream stream, bool is_for_everyone);

// Counts anew what pools have reserved and what is leaving, where something may have changed.
void look_at_pools();
// The same after a wait: what was freed in the stream, or in any of the current context, has had
// its turn.
void look_after_wait(CUstream stream);
void look_after_wait_for_all();
// The stream's handle may be another's from now on.
void forget_freed_in(CUstream stream);
// Has the pools give back to the card what they do not use. False where there is no pool, and
// nothing was leaving.
bool give_unused_back(int card);

}  // namespace tessera::guard
