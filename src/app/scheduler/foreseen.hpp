// Where the controller would place the pods of a snapshot: for who plans ahead (tessera defrag).
#pragma once

#include <string_view>

#include "domain/defrag/snapshot.hpp"

namespace tessera {

// The raters of the policies, `standard` (find_policy_option) for pods that name none; those that
// learn are told the snapshot's pods in the order of their creation, as after a restart of the
// controller, when the first pod asks for one. The snapshot outlives what is returned.
defrag::RaterOf foreseen_raters(const defrag::Snapshot& snapshot, std::string_view standard);

}  // namespace tessera
