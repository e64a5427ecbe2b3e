// The guard's state in one process, for the files that implement process.hpp. All zero at first,
// and again in a forked child.
#pragma once

#include <pthread.h>

#include <atomic>

#include "guard/process/context_limits.hpp"
#include "guard/process/graphs.hpp"
#include "guard/process/pending_frees.hpp"
#include "guard/process/physical.hpp"
#include "guard/process/place.hpp"
#include "guard/process/pools.hpp"
#include "guard/process/process.hpp"
#include "guard/process/shared_memory.hpp"
#include "guard/process/timing.hpp"

namespace tessera::guard {

struct Process {
    std::atomic<bool> has_begun;
    std::atomic<bool> has_complained;
    std::atomic<bool> has_told_of_others;  // GPUs
    std::atomic<bool> has_told_of_multiprocessors;
    pthread_mutex_t mutex;  // zero means unlocked
    ProcessSlot process_slot;
    const Limits* limits;
    char accounts_path[kMaxPath];
    std::uint64_t region_number;          // the accounts' inode
    std::atomic<std::int64_t> reaped_at;  // CLOCK_MONOTONIC, seconds
    std::atomic<int> gpus[kMaxDevices];   // by CUdevice; GPU + 1, 0: not asked yet
    Holdings holdings;
    Contexts contexts;
    Table<ContextLimits> context_limits;
    Timing timing[kMaxGpus];
    pthread_mutex_t log_mutex;
    Pools pools;
    PendingFrees pending_frees;
    Graphs graphs;
    SharedUse shared_use;
    PhysicalMemory physical_memory;
};

// Null if there is no memory for it.
Process* process();

}  // namespace tessera::guard
