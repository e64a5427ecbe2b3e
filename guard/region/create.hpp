// The agent creates the two files of a container's region.
#pragma once

#include "guard/region/layout.hpp"

namespace tessera::guard {

struct RegionGpu {
    const char* uuid;            // as NVML gives it: GPU-01234567-89ab-cdef-0123-456789abcdef
    std::uint64_t memory_bytes;  // rounded down to whole allocation units
    std::uint64_t
        context_bytes;     // what a context itself takes; rounded up to whole allocation units
    Millionths cores = 0;  // part of the GPU's time that is guaranteed to the container
    Millionths cores_limit = kWhole;         // the most that it gets
    std::uint32_t most_multiprocessors = 0;  // as in GpuLimit
};

// Creates both files in an existing directory, each completely or not at all. Existing accounts are
// kept if they have this layout. Limits are always rewritten, for a container that is about to
// start. Any process of the container may write `accounts`, and none may write `limits`. Returns 0
// or an errno; EINVAL if a uuid is invalid or there are too many GPUs.
int create_region(const char* directory, const RegionGpu* gpus, int gpu_count);

}  // namespace tessera::guard
