// The guard in one process: its seat in the container's accounts, and where all parts of it keep
// theirs. Begun by the first call that needs it. A forked child has none of it and begins its own:
// all of it lies in pages that the kernel empties there.
//
// Any thread.
#pragma once

#include <pthread.h>

#include "api/nvidia/cuda.h"
#include "guard/process/devices.hpp"
#include "guard/process/table.hpp"
#include "guard/region/life.hpp"

namespace tessera::guard {

// The error that a call gets where the guard cannot begin. Its first line on stderr says why.
inline constexpr CUresult kNotGuarded = CUDA_ERROR_OPERATING_SYSTEM;
// And where there is no driver to call.
inline constexpr CUresult kNoDriver = CUDA_ERROR_NO_DEVICE;

// CUDA_SUCCESS where the guard stands, begun now if it had not.
CUresult begin();

// The functions below want begin() to have succeeded.

struct Pools;
Pools& pools();
struct Leavers;
Leavers& leavers();
struct SharedUse;
SharedUse& shared_use();
const Seat& seat();
const char* accounts_path();
// Of the container's region: no other on this machine has it.
std::uint64_t region_number();
class Graphs;
Graphs& graphs();
// Whether any executable graph of this process allocates memory. No lock, and no need of begin().
bool have_graphs_memory();
class PhysicalMemory;
PhysicalMemory& physical_memory();

struct ContextLimits;
// By the mutex of contexts.
Table<ContextLimits>& context_limits();

// What a context was attached to beside its making (cuCtxAttach): cuCtxDetach ends it after so
// many.
struct AttachedContext {
    CUcontext context;
    unsigned attached;
};
inline std::uint64_t key_of(const AttachedContext& context) {
    return reinterpret_cast<std::uint64_t>(context.context);
}

// A green context, as a context, of a device. What is allocated in it is its primary context's.
struct GreenContext {
    CUcontext context;
    CUdevice device;
};
inline std::uint64_t key_of(const GreenContext& green) {
    return reinterpret_cast<std::uint64_t>(green.context);
}

// Contexts begin and end one at a time, by this mutex.
struct Contexts {
    pthread_mutex_t mutex;
    CUcontext primary[kMaxDevices];  // of each device that had one
    Table<AttachedContext> attached;
    Table<GreenContext> greens;  // until their primary context ends
};
Contexts& contexts();

}  // namespace tessera::guard
