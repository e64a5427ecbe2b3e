// A pod of a serving or training job, as the cluster shows it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "domain/allocation/allocation.hpp"

namespace tessera::workload {

struct WorkloadPod {
    PodUid uid = {};
    std::string name;
    std::string phase;   // Pending, Running, Succeeded, Failed
    std::string status;  // as kubectl shows it: Running, Pending, CrashLoopBackOff
    int ready = 0;       // containers
    int containers = 0;
    int restarts = 0;
    std::string node;  // empty: not bound
    std::string node_ip;
    std::string ip;
    std::int64_t created_s = 0;  // since 1970
    std::vector<GpuShare> gpus;  // that it was given
    std::string why;             // why it is not ready; empty if it is, or has ended well
    std::string init = {};       // the init container for which the others wait; empty: none
    bool in_split = false;       // of a serving job: whether the shared Service selects it
};

}  // namespace tessera::workload
