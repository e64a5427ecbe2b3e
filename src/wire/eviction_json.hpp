// What ends pods so that another has room: the Eviction of policy/v1, and patches of a pod's
// status. Each is refused by the API server (409) for a pod of another uid.
#pragma once

#include <string>
#include <string_view>

#include "base/ids.hpp"

namespace tessera {

// For pods/NAME/eviction. `only_ask`: whether it would be carried out (dryRun).
std::string write_eviction(const PodUid& uid, const PodName& pod, bool only_ask);

// Whether this Status, the answer to an Eviction, says that a PodDisruptionBudget is in the way. No
// other refusal does: 429 is also said by a server that has too much to do.
bool is_of_a_budget(std::string_view body);

// Whether this Status (403) is RBAC's: we may not evict at all, or the server does not know yet
// that we may. What admission says of one pod reads otherwise.
bool is_of_missing_right(std::string_view body);

// Whether this Status (409) says that the pod of that name has another uid.
bool is_of_a_namesake(std::string_view body);

// For pods/NAME/status, a merge patch: status.nominatedNodeName. An empty name takes it back.
std::string write_nomination(const PodUid& uid, const NodeName& node);

// For pods/NAME/status, a strategic merge patch: the condition by which kube-scheduler knows that
// room is being made on the node that a pod is nominated to, and lets the nomination stand
// (DisruptionTarget, PreemptionByScheduler). `preemptor` in words for the readers of the pod
// (domain/events/reader.hpp).
std::string write_preempted(const PodUid& uid, std::string_view preemptor);

}  // namespace tessera
