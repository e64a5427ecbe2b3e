// How a container uses its share of a GPU, as the node's agent measures it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/quantity.hpp"
#include "domain/request/gpu_request.hpp"

namespace tessera {

struct ProcessUse {
    std::int64_t pid = 0;  // in the process's own pid namespace
    Bytes used;            // 0: the process is known, and uses no memory of this GPU

    friend bool operator==(const ProcessUse&, const ProcessUse&) = default;
};

// Wall-clock time of all processes of a container together.
struct GpuTime {
    std::int64_t kernels_ns = 0;
    std::int64_t copies_ns = 0;

    friend bool operator==(const GpuTime&, const GpuTime&) = default;
};

struct ShareUse {
    PodUid pod;
    PodName name;  // empty where the agent does not know it
    std::string container;
    GpuUuid gpu;
    Bytes used;  // memory used by processes that are alive
    Bytes limit;
    Percent cores;                        // guarantee: percent of the GPU's time; 0: none
    Percent cores_limit = kNoCoresLimit;  // the most that it gets
    std::int64_t refusals = 0;            // allocations that the limit refused
    std::int64_t refused_contexts = 0;    // of processes with more compute than MPS is to give them
    bool is_timed =
        false;  // the guard shares out the GPU's time; if false, the times below stand still
    GpuTime in_flight;  // while any of its processes had work queued or running
    GpuTime had;  // the part of the GPU's time that counts as its own, since this agent started to
                  // measure
    std::int64_t waited_ns = 0;         // waiting time of launches before they got a permit
    std::vector<ProcessUse> processes;  // alive, and in the accounts of this GPU
    // Its processes damaged the accounts and get no more memory; their memory use is not known.
    bool is_damaged = false;

    friend bool operator==(const ShareUse&, const ShareUse&) = default;
};

}  // namespace tessera
