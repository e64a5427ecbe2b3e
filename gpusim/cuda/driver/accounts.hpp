// What this process takes of the GPUs and releases: its slot, and the shared memory it holds. Every
// function requires a Session.
#pragma once

#include <cstdint>

#include "api/nvidia/cuda.h"

namespace gpusim {

// What this process can still get of the GPU: what no process uses, and at most what a pinned limit
// of MPS and the limits of its cgroups leave it. It may change at any time.
std::uint64_t free_bytes(int gpu);

struct MemoryInfo {
    std::uint64_t total;
    std::uint64_t free;
};

// What cuMemGetInfo reports. It does not know all limits that free_bytes() knows (cgroups.hpp).
MemoryInfo memory_info(int gpu);

// Adds `bytes` and `contexts` to what this process holds of the GPU, if the GPU has that much left.
// CUDA_ERROR_OUT_OF_MEMORY if not; CUDA_ERROR_DEVICE_UNAVAILABLE if the node has no slot left, or
// the GPU's compute mode does not admit a context of this process.
CUresult charge(int gpu, std::uint64_t bytes, unsigned contexts);
void discharge(int gpu, std::uint64_t bytes, unsigned contexts);

// Takes `bytes` for an allocation: like charge, but also subject to the failure that `gpusimctl
// fault` has set for the GPU. discharge() releases them.
CUresult take(int gpu, std::uint64_t bytes);

// The same for memory that other processes may come to hold; `*entry` is held once. `gpu` may be
// kNoGpu: host memory is not counted.
CUresult take_shared(std::uint32_t gpu, std::uint64_t bytes, int* entry);

// Moves `bytes` of take() to a new entry, which is held once. -1: no entry left.
int share(int gpu, std::uint64_t bytes);

// Holds the entry once more. False if it does not exist any more.
bool hold_shared(int entry, std::uint64_t serial);
void drop_shared(int entry);

// True for an entry that this process made.
bool is_own(int entry);

}  // namespace gpusim
