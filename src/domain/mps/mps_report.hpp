// What a node's agent knows of MPS on its GPUs.
#pragma once

#include <vector>

#include "base/ids.hpp"
#include "domain/mps/mps_grant.hpp"
#include "domain/mps/mps_state.hpp"

namespace tessera {

// A GPU in MPS mode, or one that enters or leaves it.
struct MpsGpuReport {
    MpsState state;                // with the phase `starting` if tessera-mps says nothing of it
    std::vector<MpsGrant> grants;  // of the containers that started

    friend bool operator==(const MpsGpuReport&, const MpsGpuReport&) = default;
};

struct MpsReport {
    NodeName node;
    bool is_offered = false;         // the agent offers MPS to pods
    bool is_supervised = false;      // tessera-mps runs
    std::vector<MpsGpuReport> gpus;  // ascending by UUID

    friend bool operator==(const MpsReport&, const MpsReport&) = default;
};

}  // namespace tessera
