// What this process takes of the cards and gives back: its slot, and the shared memory it holds.
// Every function wants a Session.
#pragma once

#include <cstdint>

#include "api/nvidia/cuda.h"

namespace gpusim {

// Adds `bytes` and `contexts` to what this process holds of the card, if the card has that much
// left. CUDA_ERROR_OUT_OF_MEMORY if not; CUDA_ERROR_DEVICE_UNAVAILABLE when the node has no slot
// left.
CUresult charge(int card, std::uint64_t bytes, unsigned contexts);
void discharge(int card, std::uint64_t bytes, unsigned contexts);

// `bytes` for an allocation: as charge, but for the failure that was ordered for the card
// (`gpusimctl fault`). discharge() gives them back.
CUresult take(int card, std::uint64_t bytes);

// The same for memory that other processes may come to hold; `*entry` is held once. `card` may be
// kNoCard: the host's memory is not counted.
CUresult take_shared(std::uint32_t card, std::uint64_t bytes, int* entry);

// `bytes` that take() gave are from now on the entry's, which is held once. -1: no entry left.
int share(int card, std::uint64_t bytes);

// Holds the entry once (more). False when it is not there any more.
bool hold_shared(int entry, std::uint64_t serial);
void drop_shared(int entry);

// True for an entry that this process made.
bool is_own(int entry);

}  // namespace gpusim
