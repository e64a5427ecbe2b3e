// ExpectedFill: the task goes where the node stays most valuable for future tasks.
//
//     V(n)  = fill W(n) + pieces H(n) + reserve R(n)                       thousandths of a GPU
//     score = floor((V(n after) - V(n) - price price(model) milli count) / 80)
//
// W: what tasks drawn from the mix would still take of the node (sampled_fill.hpp). H: the value of
// its free pieces for the sizes of the mix (piece_value.hpp). R and price(model): what the whole
// cluster is short of (scarcity.hpp), updated every 1,000 arrivals. For a share of one GPU: the GPU
// with the greatest V after it, the first among equals. Otherwise: the tightest. The division is
// part of the policy: smaller differences are noise of the sample, and the first node in order
// takes the task. This policy is our own; docs/placement.md compares it with others.
//
// The mix is given, or learnt from the arriving tasks (learnt_mix.hpp). A policy that learns starts
// with best fit for the first 5 tasks. It takes over the learnt mix after 5, 7, 10, 15, ...
// arrivals, later after every 1,000. After a restart it is enough to pass the running tasks to
// arrived(), in order of their creation.
#pragma once

#include <memory>

#include "domain/placement/engine/policy.hpp"

namespace tessera {

struct ExpectedFillWeights {
    double fill = 0.75;
    double pieces = 0.75;
    double reserve = 0.1;
    double price = 0.5;
};

std::unique_ptr<PlacementPolicy> expected_fill_policy(const PolicyInputs& inputs,
                                                      const ExpectedFillWeights& weights,
                                                      bool learns);

}  // namespace tessera
