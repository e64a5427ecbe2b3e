// What this process is charged for in the container's accounts, and its notes of what that is for:
// each allocation is set aside before the driver is asked, noted under its address or handle, and
// put back when it is gone. Any thread. All want begin() to have succeeded (process.hpp).
#pragma once

#include "api/nvidia/cuda.h"
#include "guard/process/holdings.hpp"
#include "guard/region/layout.hpp"
#include "guard/region/shared_memory.hpp"

namespace tessera::guard {

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
// What is noted at the address has grown by so much, limit or not. Nothing where nothing is noted.
void grow_noted(std::uint64_t address, std::uint64_t bytes);
// The card of what is noted at an address; -1 where nothing is.
int card_noted(std::uint64_t address);
// The driver has given out an IPC handle, with this key, of what is noted at the address. False
// where the region has no place for it; true where nothing is noted that could be exported.
bool share_noted(std::uint64_t address, std::uint64_t key);
// Takes out and puts back all that ended with a context.
void put_back_all_of(CUcontext context);
// What is held of a green context that has ended is its primary context's from now on: the driver
// may give its handle to another context.
void pass_on_all_of(CUcontext green, CUcontext primary);

// The same by granules, for what is not counted by bytes. Once, and without a look at what else
// could be given back: take_granules() says false where that is too much.
bool take_granules(int card, Granules granules);
// What nobody has as it is: without a look at who has died.
bool take_granules_left(int card, Granules granules);
void give_granules(int card, Granules granules);
// For memory of the container that is there, and that nobody of it is charged for any more. As
// set_aside().
CUresult take_for_adoption(int card, Granules granules);
// What the driver has taken already, limit or not.
void own_up_to(int card, Granules granules);
// Takes back what the dead of the container held, and what only descriptors held that are closed.
void reap();
// As add_shared(), with this process charged, also where such as those must leave a place first.
int add_or_reap(const SharedName& name);
// Counts a refusal.
CUresult refuse(int card);

// Bytes. What the container may hold of a card, and what its living processes hold; those that died
// in the last second may count still.
std::uint64_t limit_bytes(int card);
std::uint64_t held_bytes(int card);
std::uint64_t held_now(int card);  // with whoever died and was not seen to have
// What a context is expected to take: what the container's first of its kind took, or the largest
// of another kind, or what the agent says.
std::uint64_t context_bytes(int card, int kind);

}  // namespace tessera::guard
