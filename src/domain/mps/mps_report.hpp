// What a node's agent knows of MPS on its GPUs.
#pragma once

#include <string>
#include <vector>

#include "base/ids.hpp"
#include "domain/mps/mps_grant.hpp"
#include "domain/mps/mps_state.hpp"

namespace tessera {

// A GPU in MPS mode, or one that enters or leaves it.
struct MpsGpuReport {
    MpsState state;                // with the phase `starting` if tessera-mps says nothing of it
    std::vector<MpsGrant> grants;  // of the containers that started
    int multiprocessors = 0;       // of the GPU; 0: not known
    // Whether the state was found in the last two minutes; known to the agent alone.
    bool is_current = false;

    friend bool operator==(const MpsGpuReport&, const MpsGpuReport&) = default;
};

struct MpsReport {
    NodeName node;
    bool is_offered = false;         // the agent offers MPS to pods
    bool is_supervised = false;      // tessera-mps runs
    std::vector<MpsGpuReport> gpus;  // ascending by UUID

    friend bool operator==(const MpsReport&, const MpsReport&) = default;
};

// A log of MPS's programs, as far as it was asked for.
struct MpsLog {
    std::string name;  // of the file
    std::string text;  // whole lines, the last ones; printable characters, tabs and line ends

    friend bool operator==(const MpsLog&, const MpsLog&) = default;
};

// The logs of one GPU's control daemon and servers; none if it was never in MPS mode.
struct MpsLogs {
    NodeName node;
    std::vector<MpsLog> logs;  // ascending by name

    friend bool operator==(const MpsLogs&, const MpsLogs&) = default;
};

}  // namespace tessera
