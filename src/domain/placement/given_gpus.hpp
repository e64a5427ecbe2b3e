// Which GPUs a pod gets on a node. One rule for bind and for the programs that predict it (tessera
// explain, domain/defrag).
#pragma once

#include <optional>

#include "domain/cluster/snapshot.hpp"
#include "domain/placement/node_scorer.hpp"
#include "domain/placement/nominees.hpp"
#include "domain/placement/place.hpp"

namespace tessera {

// The scorer chooses from what the nominees before the pod leave. Best fit chooses instead if there
// is no scorer, if it does not decide, or if its choice leaves space for fewer of the nominees
// after the pod. Nothing if the pod does not fit. `for_pod` is the pod, or the pod whose nominees
// count.
std::optional<Assignment> given_gpus(const NodeInfo& node, const PodRequest& pod,
                                     const PodToPlace& for_pod, const NodeScorer* scorer);

// Whether the node still offers what the pod requires of the GPUs that it was given, before they
// are written again: isolation by the driver. unavailable if not.
Result<> check_still_offered(const ContainerRequests& pod, const Allocation& given,
                             const NodeInventory& node);

}  // namespace tessera
