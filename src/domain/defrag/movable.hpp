// Which pods may be moved: ended, so that their controller makes another elsewhere. Its user must
// have said so, somebody must make the other, and no PodDisruptionBudget may forbid it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "domain/defrag/node_rules.hpp"
#include "domain/defrag/replacement.hpp"

namespace tessera::defrag {

// The annotation of a pod, "true", by which its user lets it be moved.
inline constexpr std::string_view kMovable = "tessera.dev/movable";

// metadata.ownerReferences with controller: true.
struct Owner {
    std::string kind;
    std::string name;
    std::string uid;

    friend bool operator==(const Owner&, const Owner&) = default;
};

// When the owner makes another pod. ReplicaSet and ReplicationController count no pod that is
// ending; a StatefulSet waits, its pods' names are its own; and so does a Job with
// podReplacementPolicy: Failed (`waiting_jobs`, by uid). Any other Job makes one some seconds after
// the old one was told to end, which counts as a failure (backoff: 10 s and more), and that one may
// or may not be gone by then. Of other controllers, those of training say, it is not known.
Replacement replacement_by(const Owner& owner, const std::set<std::string>& waiting_jobs);

// What a pod's object says of moving it.
struct PodState {
    PodUid uid;
    PodName name;
    NodeName node;  // empty until bound
    Labels labels;
    std::optional<Owner> owner;
    NodeRules nodes;       // where it may run, and the pod that is made in its place
    bool allowed = false;  // kMovable
    bool mirror = false;   // kubelet runs it from a file
    bool terminating = false;
    bool finished = false;
};

// Whether it matters what the Job says that the pod is of.
bool is_movable_of_a_job(const PodState& pod);

// A PodDisruptionBudget.
struct Budget {
    PodName name;
    // Nothing: it cannot be read, so it may cover any pod of its namespace. No terms: it covers
    // them all.
    std::optional<LabelTerms> selector;
    std::int64_t allowed = 0;  // disruptions, now; 0 where its status is behind its spec
};

// By the rules of policy/v1.
bool covers(const Budget& budget, const PodState& pod);

// Why the pod stays where it is, in words without a verb; nothing where it may be moved.
std::optional<std::string> why_it_stays(const PodState& pod, std::span<const Budget> budgets);

}  // namespace tessera::defrag
