// The policy of a simulation as defragmentation asks it: what FleetIndex would choose, so that a
// plan foretells where the simulator will put a task.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "domain/placement/fleet/index.hpp"
#include "domain/placement/node_rater.hpp"

namespace tessera {

// Of tasks that may use those models alone. Not for several threads: the index and the policy,
// which outlive it, are for one.
class FleetRater final : public NodeRater {
  public:
    FleetRater(FleetIndex& index, FleetPolicy& policy, ModelSet models)
        : index_(index), policy_(policy), models_(models) {}

    [[nodiscard]] std::vector<std::int64_t> rate(const ClusterView& view,
                                                 std::span<const std::uint32_t> positions,
                                                 const PodAsk& pod) const override;
    [[nodiscard]] std::int64_t rate_room(const NodeView& node, const Offer& room,
                                         const PodAsk& pod) const override;
    [[nodiscard]] bool is_by_lot() const override { return policy_.tie() == Tie::any; }
    [[nodiscard]] std::optional<Fit> choose(const NodeView& node, const Offer& room,
                                            const PodAsk& pod) const override;
    [[nodiscard]] std::vector<ScoreTerm> terms(const NodeView& node, const Offer& room,
                                               const PodAsk& pod) const override;

  private:
    // Nothing where the node cannot take it.
    struct Asked {
        Task task;
        NodeLoad load;
    };
    [[nodiscard]] std::optional<Asked> asked_of(const NodeView& node, const Offer& room,
                                                const PodAsk& pod) const;

    FleetIndex& index_;
    FleetPolicy& policy_;
    const ModelSet models_;
};

}  // namespace tessera
