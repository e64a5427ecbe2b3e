// ExpectedFill: the task goes where the node stays worth most to the tasks that are to come.
//     V(n)  = fill W(n) + pieces H(n) + reserve R(n)                       thousandths of a card
//     score = floor((V(n after) - V(n) - price price(model) milli count) / 80)
// W: what tasks drawn from the mix would still take of the node (sampled_fill.hpp). H: what its
// free pieces are worth where sizes are scarce (piece_value.hpp). R and price(model): what the
// whole cluster is short of (scarcity.hpp), brought up to date every 1,000 arrivals. A share of one
// card: the card with the greatest V after it, the first among equals; all else: the tightest. The
// division is part of the policy: differences below it are noise of the sample, and the first node
// in order takes the task. Our own; what it was measured against: docs/placement.md.
//
// The mix is given, or learnt from the tasks that arrive (learnt_mix.hpp), from nothing: best fit
// for the first 5, then taken over after 5, 7, 10, 15, ... arrivals, each 1,000 at last. Feeding
// arrived() the tasks that run, in the order in which they came, does after a restart.
#pragma once

#include <memory>

#include "domain/placement/fleet/policy.hpp"

namespace tessera {

struct ExpectedFillWeights {
    double fill = 0.75;
    double pieces = 0.75;
    double reserve = 0.1;
    double price = 0.5;
};

std::unique_ptr<FleetPolicy> expected_fill_policy(const PolicyInputs& inputs,
                                                  const ExpectedFillWeights& weights, bool learns);

}  // namespace tessera
