// Where the controller would place the pods of a snapshot: for planning ahead (tessera defrag).
#pragma once

#include <string_view>

#include "domain/defrag/cluster_objects.hpp"

namespace tessera {

// The scorers of the policies, `standard` (find_policy_option) for pods that name none. Policies
// that learn get the snapshot's pods in the order of their creation, as after a restart of the
// controller, when the first pod needs one. The snapshot outlives the returned object.
defrag::ScorerOf predicted_scorers(const defrag::ClusterObjects& objects,
                                   std::string_view standard);

}  // namespace tessera
