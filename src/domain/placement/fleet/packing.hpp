// Packing of the FGD artefact: cards in use first, then free cards of a node in use, then free
// nodes; tasks without cards go to the first node that fits.
//     all cards of the node free     max(33 - cards, cards)
//     else, free cards are needed    max(50 - free cards that the task takes, 33)
//     else                           max(100 - (percent free, summed over its cards) / 10, 50)
// Integer divisions. Cards: the tightest. Source: hkust-adsl/kubernetes-scheduler-simulator (USENIX
// ATC 2023).
#pragma once

#include <memory>

#include "domain/placement/fleet/policy.hpp"

namespace tessera {

std::unique_ptr<FleetPolicy> packing_policy(const PolicyInputs& inputs);

}  // namespace tessera
