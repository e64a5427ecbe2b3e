// Why a pod is, or would be, placed where it is: the controller's own decision over again, on a
// snapshot of the cluster, told node by node. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "domain/defrag/snapshot.hpp"
#include "domain/placement/fleet/policy.hpp"

namespace tessera {

// A card that the pod would get.
struct CardStory {
    GpuUuid uuid;
    int index = 0;
    std::string model;
    Bytes free;  // before it comes

    friend bool operator==(const CardStory&, const CardStory&) = default;
};

struct NodeStory {
    NodeName node;
    bool fits = false;
    std::string why;  // it does not; in the words of the scheduler's event
    // Of one that fits: the highest is the best. Of binpack: bytes left on the cards, negative.
    std::int64_t score = 0;
    bool rated = true;  // the policy has terms for the pod there, and the score is its own
    std::vector<ScoreTerm> terms;
    std::vector<CardStory> cards;
};

struct PodStory {
    PodName pod;
    NodeName on;         // empty: it waits
    std::string policy;  // the option
    enum class Source { pod, controller, assumed } policy_source = Source::assumed;
    bool learns = false;             // the policy goes by the pods that come
    std::size_t learnt = 0;          // pods of the snapshot that it was told of
    bool gated = false;              // by scheduling gates: nobody looks at it yet
    std::vector<std::string> slips;  // sentences on annotations that nobody reads
    std::string gang;                // a sentence on its gang; empty: it is of none
    // Those where it fits, the best first as filter would choose; then the others by name.
    std::vector<NodeStory> nodes;
};

// The pod as though it were not placed yet, among all others as they are now. `standard` is the
// controller's policy (find_policy_option), for a pod that names none. not_found: there is no such
// pod with GPUs; conflict: it has finished; invalid_argument: what it asks makes no sense.
Result<PodStory> explain_pod(const defrag::Snapshot& snapshot, const PodName& pod,
                             std::string_view standard);

}  // namespace tessera
