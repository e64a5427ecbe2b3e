// Which scheduler places a pod, and on which nodes.
#pragma once

#include <memory>
#include <string>

#include "domain/cluster/node_rules.hpp"

namespace tessera {

struct SchedulingRules {
    std::string scheduler;  // spec.schedulerName
    NodeRules nodes;
    // It also has rules, or preferences, that need more than its node to be known: affinity to
    // pods, topology spread, volumes with claims, resource claims, preferred nodes. Or it needs
    // more of its node than CPU, memory and GPUs: host ports, local storage, other devices.
    bool has_others = false;

    friend bool operator==(const SchedulingRules&, const SchedulingRules&) = default;
};

using SchedulingRulesPtr = std::shared_ptr<const SchedulingRules>;

}  // namespace tessera
