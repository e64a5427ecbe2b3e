// What the guard keeps of one process, for those files that are the guard in it: begun, charged and
// asked for by the functions of process.hpp. All zero at first, and again in a forked child.
#pragma once

#include <pthread.h>

#include <atomic>

#include "guard/compute/timing.hpp"
#include "guard/process/context_limits.hpp"
#include "guard/process/graphs.hpp"
#include "guard/process/leavers.hpp"
#include "guard/process/physical.hpp"
#include "guard/process/place.hpp"
#include "guard/process/pools.hpp"
#include "guard/process/process.hpp"
#include "guard/process/shared_memory.hpp"

namespace tessera::guard {

struct Process {
    std::atomic<bool> has_begun;
    std::atomic<bool> has_complained;
    std::atomic<bool> has_told_of_others;  // cards
    pthread_mutex_t mutex;                 // zero is unlocked
    Seat seat;
    const Limits* limits;
    char accounts_path[kMaxPath];
    std::uint64_t region_number;          // the accounts' inode
    std::atomic<std::int64_t> reaped_at;  // CLOCK_MONOTONIC, seconds
    std::atomic<int> cards[kMaxDevices];  // by CUdevice; card + 1, 0: not asked yet
    Holdings holdings;
    Contexts contexts;
    Table<ContextLimits> context_limits;
    Timing timing[kMaxCards];
    pthread_mutex_t log_mutex;
    Pools pools;
    Leavers leavers;
    Graphs graphs;
    SharedUse shared_use;
    PhysicalMemory physical_memory;
};

// Null where there is no memory for it.
Process* process();

}  // namespace tessera::guard
