// What ends pods so that another has room: the Eviction of policy/v1, and patches of a pod's
// status. Each is refused by the API server (409) for a pod of another uid.
#pragma once

#include <string>

#include "base/ids.hpp"

namespace tessera {

// For pods/NAME/eviction. `only_ask`: whether it would be carried out (dryRun).
std::string write_eviction(const PodUid& uid, const PodName& pod, bool only_ask);

// For pods/NAME/status, a merge patch: status.nominatedNodeName.
std::string write_nomination(const PodUid& uid, const NodeName& node);

// For pods/NAME/status, a strategic merge patch: the condition by which kube-scheduler knows that
// room is being made on the node that a pod is nominated to, and lets the nomination stand
// (DisruptionTarget, PreemptionByScheduler).
std::string write_preempted(const PodUid& uid, const PodName& preemptor);

}  // namespace tessera
