// The preempt verb of the scheduler extender protocol: ExtenderPreemptionArgs and
// ExtenderPreemptionResult of k8s.io/kube-scheduler/extender/v1. The JSON keys are the Go field
// names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "domain/cluster/pod_info.hpp"
#include "domain/dialect/dialect.hpp"

namespace tessera {

// The pods to evict from a node.
struct NodeVictims {
    NodeName node;
    std::vector<PodUid> pods;
    std::int64_t pdb_violations = 0;

    friend bool operator==(const NodeVictims&, const NodeVictims&) = default;
};

struct PreemptionArgs {
    PodInfo pod;
    std::vector<NodeVictims> nodes;  // in the order of the request
};

// Victims are given as uids (nodeCacheCapable) or as whole pods. Errors are invalid_argument.
Result<PreemptionArgs> read_preemption_args(std::string_view body,
                                            const Dialects& dialects = all_dialects());
std::string write_preemption_result(const std::vector<NodeVictims>& nodes);

}  // namespace tessera
