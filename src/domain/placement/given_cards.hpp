// Which cards a pod is given on a node: one rule for bind, and for who foretells it (tessera
// explain, domain/defrag).
#pragma once

#include <optional>

#include "domain/cluster/view.hpp"
#include "domain/placement/node_rater.hpp"
#include "domain/placement/nominees.hpp"
#include "domain/placement/place.hpp"

namespace tessera {

// Those that the rater chooses of what the nominees before the pod leave; the best fit where there
// is no rater, where it has no say, or where its cards leave room for fewer of the nominees behind
// the pod. Nothing where the pod does not fit. `asker` is the pod, or who stands in for it.
std::optional<Fit> given_cards(const NodeView& node, const PodAsk& pod, const Asker& asker,
                               const NodeRater* rater);

}  // namespace tessera
