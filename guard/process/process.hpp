// The guard in one process: its seat in the container's accounts, the limits, and what it holds.
// Begun by the first call that needs it. A forked child has none of it and begins its own: all of
// it lies in pages that the kernel empties there.
//
// Any thread.
#pragma once

#include <pthread.h>

#include "api/nvidia/cuda.h"
#include "guard/process/holdings.hpp"
#include "guard/region/life.hpp"

namespace tessera::guard {

// The error that a call gets where the guard cannot begin. Its first line on stderr says why.
inline constexpr CUresult kNotGuarded = CUDA_ERROR_OPERATING_SYSTEM;
// And where there is no driver to call.
inline constexpr CUresult kNoDriver = CUDA_ERROR_NO_DEVICE;

inline constexpr int kMaxDevices = 64;

// CUDA_SUCCESS where the guard stands, begun now if it had not.
CUresult begin();

// The functions below want begin() to have succeeded.

// Index into the limits of the card of a device; -1 where the container has no share of it.
int card_of(CUdevice device);
// Of the context that is current on this thread.
struct Current {
    CUcontext context = nullptr;
    int card = -1;
};
// The driver's error where there is none; kNotGuarded where it is of a card without a share.
CUresult find_current(Current& current);

// Whether the device exists and is of a card that the container has no share of.
bool is_of_others(CUdevice device);
// The device of a card; -1 where none was asked for.
CUdevice device_of(int card);

// Sets aside what the driver will take for so many bytes. CUDA_ERROR_OUT_OF_MEMORY where the
// container would hold more than its limit, whatever its dead and the pools of this process give
// back.
CUresult set_aside(int card, std::uint64_t bytes);
// The driver took another number of bytes. As set_aside(); what was set aside then stays.
CUresult correct(int card, std::uint64_t set_aside_bytes, std::uint64_t taken_bytes);
// What was set aside is at this address now. False, and set aside still, where it cannot be noted.
bool note(const Holding& holding);
// It was not taken after all, or is gone.
void put_back(int card, std::uint64_t bytes);
// The same of what was noted: charged still where others of the container have imported it.
void put_back(const Holding& holding);
// Takes a note out, before the driver frees what is there: the address may be another's at once.
// Counted still; address 0 where nothing was noted.
Holding take_note(std::uint64_t address);
// The card of what is noted at an address; -1 where nothing is.
int card_noted(std::uint64_t address);
// The driver has given out an IPC handle, with this key, of what is noted at the address. False
// where the region has no place for it; true where nothing is noted that could be exported.
bool share_noted(std::uint64_t address, std::uint64_t key);
// Takes out and puts back all that ended with a context.
void put_back_all_of(CUcontext context);

// The same by granules, for what is not counted by bytes. Once, and without a look at what else
// could be given back: take_granules() says false where that is too much.
bool take_granules(int card, Granules granules);
void give_granules(int card, Granules granules);
// For memory of the container that is there, and that nobody of it is charged for any more. As
// set_aside().
CUresult take_for_adoption(int card, Granules granules);
// What the driver has taken already, limit or not.
void own_up_to(int card, Granules granules);
// Counts a refusal.
CUresult refuse(int card);

struct Pools;
Pools& pools();
struct Leavers;
Leavers& leavers();
struct SharedUse;
SharedUse& shared_use();
const Seat& seat();
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

// Contexts begin and end one at a time, by this mutex.
struct Contexts {
    pthread_mutex_t mutex;
    CUcontext primary[kMaxDevices];  // of each device that had one
};
Contexts& contexts();

// Bytes. What the container may hold of a card, and what its living processes hold; those that died
// in the last second may count still.
std::uint64_t limit_bytes(int card);
std::uint64_t held_bytes(int card);
std::uint64_t held_now(int card);  // with whoever died and was not seen to have
// What a context is expected to take: what the container's first of its kind took, or the largest
// of another kind, or what the agent says.
std::uint64_t context_bytes(int card, int kind);

}  // namespace tessera::guard
