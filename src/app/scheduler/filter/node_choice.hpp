// Which of the nodes that kube-scheduler names can take a pod, and which are best: what filter and
// prioritize answer from one snapshot. No side effects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "domain/cluster/snapshot.hpp"
#include "domain/placement/node_scorer.hpp"
#include "wire/extender/extender_json.hpp"

namespace tessera {

// The best of the fitting nodes by `scorer` (null: the best fit of place.hpp), and the first `best`
// named among equals. `best` is mostly one, so that kube-scheduler has nothing to score and does
// not call prioritize. All fitting nodes are returned if `best` is 0 or the pod has preferences of
// its own, which only kube-scheduler can weigh (docs/decisions/0007-few-best-nodes.md). A pod that
// was nominated ahead of its turn gets the node chosen for it, if it still fits there. A pod whose
// Binding is not reconciled yet fits only on its own node.
FilterAnswer choose_nodes(const Snapshot& snapshot, const ExtenderArgs& args, const PodRequest& pod,
                          const NodeScorer* scorer, std::size_t best);

// The best of these positions by the scorer; nothing if the pod fits on none of them.
std::optional<std::uint32_t> best_node(const Snapshot& snapshot,
                                       std::span<const std::uint32_t> positions,
                                       const PodRequest& pod, const NodeScorer* scorer);

// Parallel to args.names: 10 for the best of these nodes, 7 down to 0 for the others by price, 0
// for one that does not fit.
std::vector<int> score_nodes(const Snapshot& snapshot, const ExtenderArgs& args,
                             const PodRequest& pod, const NodeScorer* scorer);

}  // namespace tessera
