// Which pods may be moved: ended, so that their controller makes another elsewhere. Its user must
// have said so, somebody must make the other, and no PodDisruptionBudget may forbid it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "domain/defrag/node_rules.hpp"

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

// Whether its controller makes another pod while the old one is ending still, whose cards that one
// holds then: ReplicaSet and ReplicationController count no pod that is ending. All others are
// taken to wait until it is gone, as a StatefulSet does, a Job with podReplacementPolicy: Failed,
// and operators of training, whose pods have names of their own. A Job without that does not wait;
// a move may be planned then that brings it back to where it was.
bool is_made_at_once(const Owner& owner);

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
