// Best fit, within a node and across nodes: the policy of gpushare (docs/research/gpushare.md
// §2.5), which had it within a node only.
//
// Assumes that memory is what runs out, and that a card left whole is worth more than two half-used
// ones. Price: the memory left free on the card once the share is there.
#pragma once

#include "domain/placement/policy.hpp"

namespace tessera {

const Policy& binpack_policy();

}  // namespace tessera
