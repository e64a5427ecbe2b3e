// The guard in one process: its process slot in the container's accounts, and the state of all its
// parts. The first call that needs it starts it. A forked child starts its own: the kernel empties
// the pages of this state in the child.
//
// Any thread.
#pragma once

#include <pthread.h>

#include "api/nvidia/cuda.h"
#include "guard/base/table.hpp"
#include "guard/process/devices.hpp"
#include "guard/region/life.hpp"

namespace tessera::guard {

// The error of a call if the guard cannot start. The first line on stderr says why.
inline constexpr CUresult kNotGuarded = CUDA_ERROR_OPERATING_SYSTEM;
// The error if there is no driver.
inline constexpr CUresult kNoDriver = CUDA_ERROR_NO_DEVICE;

// CUDA_SUCCESS if the guard is active; starts it if necessary.
CUresult begin();

// The functions below require that begin() has succeeded.

struct Pools;
Pools& pools();
struct PendingFrees;
PendingFrees& pending_frees();
struct SharedUse;
SharedUse& shared_use();
const ProcessSlot& process_slot();
const char* accounts_path();
// Identifies the container's region: no other region on this machine has the same number.
std::uint64_t region_number();
class Graphs;
Graphs& graphs();
// Whether any executable graph of this process allocates memory. Takes no lock, and does not need
// begin().
bool have_graphs_memory();
class PhysicalMemory;
PhysicalMemory& physical_memory();

struct ContextLimits;
// Protected by the mutex of contexts.
Table<ContextLimits>& context_limits();

// How often a context was attached after its creation (cuCtxAttach). Only one more call of
// cuCtxDetach than that destroys the context.
struct AttachedContext {
    CUcontext context;
    unsigned attached;
};
inline std::uint64_t key_of(const AttachedContext& context) {
    return reinterpret_cast<std::uint64_t>(context.context);
}

// A green context, as a context, on a device. Its primary context owns what is allocated in it.
struct GreenContext {
    CUcontext context;
    CUdevice device;
};
inline std::uint64_t key_of(const GreenContext& green) {
    return reinterpret_cast<std::uint64_t>(green.context);
}

// Contexts are created and destroyed one at a time, under this mutex.
struct Contexts {
    pthread_mutex_t mutex;
    CUcontext primary[kMaxDevices];  // of each device that had one
    Table<AttachedContext> attached;
    Table<GreenContext> greens;  // until their primary context ends
};
Contexts& contexts();

}  // namespace tessera::guard
