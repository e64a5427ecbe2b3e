// The Eviction of policy/v1. The API server refuses it (409) for a pod with another uid.
#pragma once

#include <string>
#include <string_view>

#include "base/ids.hpp"

namespace tessera {

// For pods/NAME/eviction. With `dry_run` the server only checks whether it would evict (dryRun).
std::string write_eviction(const PodUid& uid, const PodName& pod, bool dry_run);

// Whether this Status, the answer to an Eviction, says that a PodDisruptionBudget forbids it. The
// status code 429 is not enough, because an overloaded server sends it too.
bool is_of_a_budget(std::string_view body);

// Whether this Status (403) comes from RBAC: we may not evict at all, or the server does not know
// yet that we may. A refusal by an admission plugin, which concerns one pod, has another text.
bool is_of_missing_right(std::string_view body);

// Whether this Status (409) says that the pod of that name has another uid.
bool is_of_a_namesake(std::string_view body);

}  // namespace tessera
