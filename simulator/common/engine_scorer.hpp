// The simulation's policy in the form that defragmentation uses: it chooses as EngineIndex would,
// so that a plan predicts where the simulator will put a task.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "domain/placement/engine/index.hpp"
#include "domain/placement/node_scorer.hpp"

namespace tessera {

// For tasks that may use these models only. Not thread-safe: the index and the policy, which
// outlive it, are for one thread.
class EngineScorer final : public NodeScorer {
  public:
    EngineScorer(EngineIndex& index, PlacementPolicy& policy, ModelSet models)
        : index_(index), policy_(policy), models_(models) {}

    [[nodiscard]] std::vector<std::int64_t> score(const Snapshot& snapshot,
                                                  std::span<const std::uint32_t> positions,
                                                  const PodRequest& pod) const override;
    [[nodiscard]] std::int64_t score_room(const NodeInfo& node, const NodeGpus& room,
                                          const PodRequest& pod) const override;
    [[nodiscard]] bool has_random_tie_break() const override { return policy_.tie() == Tie::any; }
    [[nodiscard]] std::optional<Assignment> choose(const NodeInfo& node, const NodeGpus& room,
                                                   const PodRequest& pod) const override;
    [[nodiscard]] std::vector<ScoreTerm> terms(const NodeInfo& node, const NodeGpus& room,
                                               const PodRequest& pod) const override;

  private:
    // Nothing if the node cannot take the task.
    struct Asked {
        PlacementTask task;
        NodeLoad load;
    };
    [[nodiscard]] std::optional<Asked> asked_of(const NodeInfo& node, const NodeGpus& room,
                                                const PodRequest& pod) const;

    EngineIndex& index_;
    PlacementPolicy& policy_;
    const ModelSet models_;
};

}  // namespace tessera
