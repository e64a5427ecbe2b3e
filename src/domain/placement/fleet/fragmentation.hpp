// Fragmentation of a node under a target workload, as FGD defines it (USENIX ATC 2023; exactly as
// its artefact hkust-adsl/kubernetes-scheduler-simulator computes it), in thousandths of a card:
//     F(node) = sum over classes m of share(m) F(node, m), and with R = what is free on its cards
//     F(node, m) = R, where m asks for no card, may not use the model, or does not fit for CPU or
//                  cards; else the sum of the free pieces that are too small for m.
// The terms are added up by their reason, in doubles and without fused operations, and the reasons
// in a fixed order: a score of FGD is truncated to a whole number, and another order gives another
// number now and then.
#pragma once

#include <span>
#include <vector>

#include "domain/placement/fleet/mix.hpp"
#include "domain/placement/fleet/node_load.hpp"
#include "domain/placement/fleet/node_state.hpp"

namespace tessera {

// Remembers what it worked out; one thread.
class Fragmentation {
  public:
    explicit Fragmentation(std::span<const MixClass> mix) : mix_(mix.begin(), mix.end()) {}

    [[nodiscard]] double of(const NodeLoad& load);

  private:
    [[nodiscard]] double work_out(const NodeLoad& load) const;

    std::vector<MixClass> mix_;
    StateMemo<double> memo_;
};

}  // namespace tessera
