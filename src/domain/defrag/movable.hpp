// Which pods may be moved. A move evicts a pod, and its controller creates a replacement elsewhere.
// The pod's user must have allowed it, a controller must create the replacement, and no
// PodDisruptionBudget may forbid the eviction.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "domain/cluster/node_rules.hpp"
#include "domain/defrag/replacement.hpp"

namespace tessera::defrag {

// The annotation of a pod by which its user allows moves: "true".
inline constexpr std::string_view kMovable = "tessera.dev/movable";

// metadata.ownerReferences with controller: true.
struct Owner {
    std::string kind;
    std::string name;
    std::string uid;

    friend bool operator==(const Owner&, const Owner&) = default;
};

// When the owner creates the replacement. ReplicaSet and ReplicationController do not count a
// terminating pod, so they create it at once. A StatefulSet waits, because its pods have fixed
// names. A Job with podReplacementPolicy: Failed (`waiting_jobs`, by uid) waits, too. Any other Job
// creates one some seconds after the deletion began, which counts as a failure (backoff: 10 s and
// more); the old pod may or may not be gone by then. For other controllers, such as those for
// training, it is not known.
Replacement replacement_by(const Owner& owner, const std::set<std::string>& waiting_jobs);

// What a pod's object says about moving it.
struct PodState {
    PodUid uid;
    PodName name;
    NodeName node;  // empty until bound
    Labels labels;
    std::optional<Owner> owner;
    NodeRules nodes;       // where it and its replacement may run
    bool allowed = false;  // kMovable
    bool mirror = false;   // a static pod: kubelet runs it from a file
    bool terminating = false;
    bool finished = false;
};

// Whether the pod is movable and its Job decides when the replacement is created.
bool is_movable_of_a_job(const PodState& pod);

// A PodDisruptionBudget.
struct Budget {
    PodName name;
    // Nothing: the selector cannot be read, so the budget may cover any pod of its namespace. No
    // terms: it covers all of them.
    std::optional<LabelTerms> selector;
    std::int64_t allowed = 0;  // disruptions allowed now; 0 if its status is behind its spec
};

// By the rules of policy/v1.
bool covers(const Budget& budget, const PodState& pod);

// Why the pod must stay, in words without a verb; nothing if it may be moved.
std::optional<std::string> why_it_stays(const PodState& pod, std::span<const Budget> budgets);

}  // namespace tessera::defrag
