// What a pod's object says about its scheduler, beyond PodInfo.
#pragma once

#include <set>
#include <string>

namespace tessera::defrag {

struct PodScheduling {
    std::string scheduler;     // spec.schedulerName
    bool is_reported = false;  // a scheduler has set the condition PodScheduled
    // The resources of its containers by which other products assign GPUs.
    std::set<std::string> foreign_requests;
};

}  // namespace tessera::defrag
