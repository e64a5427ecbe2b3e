// Clustering of the FGD artefact: tasks that ask for the same number of cards share nodes. Kinds
// are shares of a card, and 1, 2, 4 ... whole cards (kind_of). Tasks without cards go to the first
// node that fits.
//     score = 25 (8000 - free milli of the node) / 8000, integer division (the milli of all its
//             cards in place of 8000 where it has more than eight), plus
//             75 where only this kind runs, 50 where it runs among others, 25 where no task with
//             cards runs, 0 where others run
// Cards: the tightest. Source: hkust-adsl/kubernetes-scheduler-simulator (USENIX ATC 2023).
#pragma once

#include <memory>

#include "domain/placement/fleet/policy.hpp"

namespace tessera {

std::unique_ptr<FleetPolicy> clustering_policy(const PolicyInputs& inputs);

}  // namespace tessera
