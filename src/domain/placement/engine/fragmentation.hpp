// Fragmentation of a node under a target workload, as FGD defines it (USENIX ATC 2023), in
// thousandths of a GPU. It is computed exactly as by FGD's artefact,
// hkust-adsl/kubernetes-scheduler-simulator:
//
//     F(node) = sum over classes m of share(m) F(node, m), with R = the sum free on its GPUs
//
//     F(node, m) = R if m requests no GPU, may not use the model, or does not fit by CPU or GPUs;
//                  else the sum of the free pieces that are too small for m
//
// The terms are added up by reason, in doubles, without fused operations, and the reasons in a
// fixed order. A score of FGD is truncated to a whole number, so another order sometimes gives
// another score.
#pragma once

#include <span>
#include <vector>

#include "domain/placement/engine/mix.hpp"
#include "domain/placement/engine/node_load.hpp"
#include "domain/placement/engine/node_state.hpp"

namespace tessera {

// Caches its results. Used by one thread.
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
