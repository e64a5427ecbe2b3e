// GPU memory that the driver counts for a pod's processes and that the guard's accounts do not
// contain: a program bypasses the guard (docs/internals/guard.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/quantity.hpp"
#include "domain/usage/share_use.hpp"

namespace tessera {

// A process that uses a GPU, as the driver counts it, its context included.
struct PodGpuProcess {
    GpuUuid gpu;
    std::int64_t pid = 0;  // in the caller's pid namespace
    PodUid pod;            // empty: it belongs to no pod
    Bytes used;
};

struct Unaccounted {
    PodUid pod;
    PodName name;  // empty if no share of the pod is enforced
    GpuUuid gpu;
    Bytes used;                      // by the driver's count
    Bytes accounted;                 // by the accounts
    std::vector<std::int64_t> pids;  // of the pod's processes on the GPU

    friend bool operator==(const Unaccounted&, const Unaccounted&) = default;
};

// Pods that use more of a GPU than their accounts say.
//
// Each process that the accounts know may use `allowance` more, for memory that the driver needs
// for it. A pod has at least one allowance, and not more than the driver lists processes for it:
// many processes that bypass the guard get only one. A pod without a share of the GPU is found if
// another pod with a share uses memory of it; a GPU that is assigned as a whole has no such
// neighbour.
//
// The two inputs are read at slightly different times, so a single finding proves nothing. Sorted
// by pod, then by GPU.
std::vector<Unaccounted> find_unaccounted(std::span<const PodGpuProcess> processes,
                                          std::span<const ShareUse> uses, Bytes allowance);

// All memory of a GPU that is in use, by the driver's count.
struct GpuInUse {
    GpuUuid gpu;
    Bytes used;
};

// More of a GPU is in use than all known pods account for: a file descriptor that bypasses the
// guard keeps it, or the driver does.
struct Unclaimed {
    GpuUuid gpu;
    Bytes used;     // of the GPU
    Bytes claimed;  // the sum over its processes (driver) or its shares (accounts), see
                    // find_unclaimed

    friend bool operator==(const Unclaimed&, const Unclaimed&) = default;
};

// GPUs with shares of which more than `allowance` is used and not claimed. Each pod claims what its
// processes use or what its shares account for, whichever is more: memory behind a file descriptor
// is in the accounts, but the driver counts it for no process. The inputs are read at slightly
// different times, so a single finding proves nothing.
std::vector<Unclaimed> find_unclaimed(std::span<const GpuInUse> gpus,
                                      std::span<const PodGpuProcess> processes,
                                      std::span<const ShareUse> uses, Bytes allowance);

}  // namespace tessera
