// What this process is charged for in the container's accounts, and its records of what that is
// for. Each allocation is reserved before the driver is called, recorded under its address or
// handle, and released when it is gone. Any thread. All functions require that begin() has
// succeeded (process.hpp).
#pragma once

#include "api/nvidia/cuda.h"
#include "guard/process/holdings.hpp"
#include "guard/region/layout.hpp"
#include "guard/region/shared_memory.hpp"

namespace tessera::guard {

// Reserves what the driver will take for `bytes`. CUDA_ERROR_OUT_OF_MEMORY if the container would
// then hold more than its limit, even after dead processes' memory and the unused memory of this
// process's pools have been released.
CUresult reserve(int gpu, std::uint64_t bytes);
// The driver took another number of bytes. Errors as for reserve(); the reservation then stays.
CUresult correct(int gpu, std::uint64_t reserve_bytes, std::uint64_t taken_bytes);
// The reserved memory is at this address now. False if it cannot be recorded; it stays reserved.
bool record(const Holding& holding);
// The memory was not taken after all, or is gone.
void release(int gpu, std::uint64_t bytes);
// The same for a recorded holding. It stays charged if other processes of the container have
// imported it.
void release(const Holding& holding);
// Removes a record before the driver frees the memory: the address may be used again at once. The
// memory stays charged. Address 0 if nothing was recorded.
Holding take_record(std::uint64_t address);
// The recorded holding at the address has grown by `bytes`, regardless of the limit. Does nothing
// if there is none.
void grow_recorded(std::uint64_t address, std::uint64_t bytes);
// The GPU of the recorded holding at an address; -1 if there is none.
int gpu_of_record(std::uint64_t address);
// The driver has returned an IPC handle, with this key, for the recorded holding at the address.
// False if the region has no free entry; true if there is no record of exportable memory.
bool share_recorded(std::uint64_t address, std::uint64_t key);
// Removes the records of all memory that ended with a context, and releases it.
void release_all_of(CUcontext context);
// A green context has ended. What was held in it now belongs to its primary context, because the
// driver may reuse its handle for another context.
void pass_on_all_of(CUcontext green, CUcontext primary);

// The same in allocation units, for memory that is not counted by bytes. take_units() reaps dead
// processes once, does not release unused memory of pools, and returns false if the limit is
// exceeded.
bool take_units(int gpu, AllocationUnits units);
// The same without reaping dead processes.
bool take_units_left(int gpu, AllocationUnits units);
void give_units(int gpu, AllocationUnits units);
// For existing memory of the container that no process of it is charged for any more. Errors as for
// reserve().
CUresult take_for_adoption(int gpu, AllocationUnits units);
// Charges what the driver has already taken, regardless of the limit.
void force_charge(int gpu, AllocationUnits units);
// Releases what dead processes of the container held, and what only closed descriptors held.
void reap();
// As add_shared(), with this process charged. If there is no free entry, it reaps and tries again.
int add_or_reap(const SharedName& name);
// Counts a refusal.
CUresult refuse(int gpu);

// In bytes: what the container may hold of a GPU, and what its live processes hold. Processes that
// died in the last second may still count.
std::uint64_t limit_bytes(int gpu);
std::uint64_t held_bytes(int gpu);
std::uint64_t held_now(int gpu);  // including dead processes that have not been reaped
// What a context is expected to take. This is what the container's first context of its kind took.
// If that is unknown, it is the largest cost of other kinds, or else the agent's value.
std::uint64_t context_bytes(int gpu, int kind);

}  // namespace tessera::guard
