// Which of a node's GPUs a policy gives to a container. One rule for the controller
// (app/scheduler/scoring/score_cache) and for the simulator's replay (simulator/live/live_placer).
#pragma once

#include <cstdint>
#include <optional>

#include "domain/cluster/node.hpp"
#include "domain/placement/engine/node_load.hpp"
#include "domain/placement/engine/policy.hpp"
#include "domain/placement/gpu_sets.hpp"

namespace tessera {

// One container on one node.
struct GpuQuestion {
    const NodeGpus& node_gpus;
    const NodeLoad&
        load;  // without GPUs that the pod's rules exclude and what its other containers take
    const GpuRequest& gpu;
    const PlacementTask& task;  // the same in thousandths
    GpuMask open = 0;           // the GPUs on which it fits
};

// The first of the container's candidate sets (GpuSets) with enough open GPUs; nothing if there is
// none.
std::optional<GpuMask> first_with_room(GpuSets& sets, const NodeGpus& node_gpus,
                                       const GpuRequest& gpu, GpuMask open);

// The GPUs of that set that the policy chooses; among equal GPUs, the one whose loss harms least.
// Nothing if there is no such set, or the policy finds no GPUs in it. `random` is the pod's random
// number.
std::optional<GpuSet> choose_gpus(GpuSets& sets, const GpuQuestion& question,
                                  PlacementPolicy& policy, std::uint64_t random);

}  // namespace tessera
