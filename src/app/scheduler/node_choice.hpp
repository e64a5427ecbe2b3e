// Which of the nodes that kube-scheduler names can take a pod, and which are best: what filter and
// prioritize answer from one view. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "domain/cluster/view.hpp"
#include "domain/placement/node_rater.hpp"
#include "wire/extender_json.hpp"

namespace tessera {

// The best of the fitting nodes by `rater` (null: the best fit of place.hpp), and the first `best`
// named among equals: mostly one, so that kube-scheduler has nothing to score and does not ask us
// to; all that fit where `best` is 0 or the pod has preferences of its own, which only
// kube-scheduler can weigh (docs/decisions/0007-few-best-nodes.md). A pod whose Binding is not
// settled fits on its own node alone.
FilterAnswer choose_nodes(const ClusterView& view, const ExtenderArgs& args, const PodAsk& pod,
                          const NodeRater* rater, std::size_t best);

// The best of these positions by the rater; nothing where the pod fits on none of them.
std::optional<std::uint32_t> best_node(const ClusterView& view,
                                       std::span<const std::uint32_t> positions, const PodAsk& pod,
                                       const NodeRater* rater);

// Parallel to args.names: 10 for the best of these nodes, 7 down to 0 for the others by price,
// 0 for one that does not fit.
std::vector<int> score_nodes(const ClusterView& view, const ExtenderArgs& args, const PodAsk& pod,
                             const NodeRater* rater);

}  // namespace tessera
