// A placement policy as the controller asks it: which of the nodes that can take a pod is the best,
// and which of that node's cards. Whether a pod fits is not its to say: Placer decides that, in
// bytes.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "domain/cluster/view.hpp"
#include "domain/placement/fleet/policy.hpp"
#include "domain/placement/place.hpp"

namespace tessera {

// Any thread may call.
class NodeRater {
  public:
    // Of a node that can take the pod, and of which the policy has no terms to speak.
    static constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::min() / 2;

    virtual ~NodeRater() = default;

    // Parallel to `positions`, which are of nodes of the view that can take the pod: the highest is
    // the best, the first in the order of the view among equals.
    [[nodiscard]] virtual std::vector<std::int64_t> rate(const ClusterView& view,
                                                         std::span<const std::uint32_t> positions,
                                                         const PodAsk& pod) const = 0;
    // The same of one node, of what `room` offers there: for who asks what would be.
    [[nodiscard]] virtual std::int64_t rate_room(const NodeView& node, const Offer& room,
                                                 const PodAsk& pod) const = 0;
    // Whether a lot that is drawn for the pod decides among equals.
    [[nodiscard]] virtual bool is_by_lot() const = 0;
    // The pod's cards on a node that can take it, of what `room` offers. They have room in bytes.
    // Nothing where the policy has no terms for it.
    [[nodiscard]] virtual std::optional<Fit> choose(const NodeView& node, const Offer& room,
                                                    const PodAsk& pod) const = 0;
    // What the rating of such a node is made of, for people; of several containers, the first's.
    [[nodiscard]] virtual std::vector<ScoreTerm> terms(const NodeView& node, const Offer& room,
                                                       const PodAsk& pod) const = 0;
};

}  // namespace tessera
