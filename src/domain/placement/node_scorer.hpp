// A placement policy for the controller: it scores the feasible nodes, and chooses GPUs of a node.
// It does not decide whether a pod fits: Placer does, in bytes.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "domain/cluster/snapshot.hpp"
#include "domain/placement/engine/policy.hpp"
#include "domain/placement/place.hpp"

namespace tessera {

// Any thread may call.
class NodeScorer {
  public:
    // The score of a feasible node that the policy cannot score.
    static constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::min() / 2;

    virtual ~NodeScorer() = default;

    // Parallel to `positions`, which are feasible nodes of the snapshot. The highest score is the
    // best; among equals, the first in the snapshot's order.
    [[nodiscard]] virtual std::vector<std::int64_t> score(const Snapshot& snapshot,
                                                          std::span<const std::uint32_t> positions,
                                                          const PodRequest& pod) const = 0;
    // The score of one node whose free GPUs are those of `room`, for what-if questions.
    [[nodiscard]] virtual std::int64_t score_room(const NodeInfo& node, const NodeGpus& room,
                                                  const PodRequest& pod) const = 0;
    // Whether a random number per pod breaks ties.
    [[nodiscard]] virtual bool has_random_tie_break() const = 0;
    // Chooses the pod's GPUs on a feasible node, out of `room`. They fit in bytes. Nothing if the
    // policy cannot express the pod.
    [[nodiscard]] virtual std::optional<Assignment> choose(const NodeInfo& node,
                                                           const NodeGpus& room,
                                                           const PodRequest& pod) const = 0;
    // The terms of a node's score, for people; if there are several containers, those of the first.
    [[nodiscard]] virtual std::vector<ScoreTerm> terms(const NodeInfo& node, const NodeGpus& room,
                                                       const PodRequest& pod) const = 0;
};

}  // namespace tessera
