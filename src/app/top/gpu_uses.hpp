// How GPUs are used, by the reports of the agents.
#pragma once

#include <optional>
#include <span>

#include "app/cli/share_table.hpp"
#include "app/cli/usage.hpp"

namespace tessera {

// The shares of one GPU together.
struct GpuUses {
    bool is_known = false;    // an agent reports a share of it
    Bytes memory;             // used by the programs of pods
    std::optional<int> time;  // percent of the GPU's time, at most 100; nothing: it is not measured
};

GpuUses uses_of(const GpuUuid& gpu, std::span<const ShareLine> uses);
// The same of one pod on the GPU.
GpuUses uses_of(const GpuUuid& gpu, const PodUid& pod, std::span<const ShareLine> uses);

// What a pod requests on all GPUs of its node together.
struct PodSums {
    Bytes memory;
    int cores = 0;  // in percent of one GPU
};

PodSums sums_of(const PodUsage& pod);

}  // namespace tessera
