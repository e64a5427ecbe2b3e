// Whether the scheduler of a pod calls Tessera: what can be known of it from the API server alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "domain/defrag/cluster_objects.hpp"

namespace tessera {

struct SchedulerExplanation {
    // What is wrong in the pod, with the fix; each a sentence without a full stop.
    std::vector<std::string> faults;
    // Sentences on what is not known, for a pod that fits; empty: all is known.
    std::string caveat;
};

// `own_scheduler`: the only kube-scheduler that calls the controller (ControllerFlags::scheduler).
// If it is empty, any scheduler may call it: then only the pods that a scheduler has placed through
// Tessera prove that it does. Empty for a pod that is not among ClusterObjects::pods.
SchedulerExplanation explain_scheduler(const defrag::ClusterObjects& objects, const PodName& pod,
                                       std::string_view own_scheduler);

}  // namespace tessera
