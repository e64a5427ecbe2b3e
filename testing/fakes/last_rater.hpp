// A placement policy that no other agrees with.
#pragma once

#include <gtest/gtest.h>

#include "domain/placement/node_rater.hpp"

namespace tessera {

// Rates the nodes whose name is later in the alphabet higher, and takes the last card with room.
class LastRater final : public NodeRater {
  public:
    [[nodiscard]] std::vector<std::int64_t> rate(const ClusterView&, std::span<const std::uint32_t>,
                                                 const PodAsk&) const override {
        ADD_FAILURE() << "of what would be, and not of a view";
        return {};
    }
    [[nodiscard]] std::int64_t rate_room(const NodeView& node, const Offer& /*room*/,
                                         const PodAsk& /*pod*/) const override {
        return node.inventory.name.str().front();
    }
    [[nodiscard]] bool is_by_lot() const override { return false; }
    [[nodiscard]] std::optional<Fit> choose(const NodeView& /*node*/, const Offer& room,
                                            const PodAsk& pod) const override {
        const Bytes ask = bytes_of(pod.request.front().gpu.memory, room.unit, {});
        int card = static_cast<int>(room.free.size()) - 1;
        while (room.free[static_cast<std::size_t>(card)] < ask)
            --card;
        return Fit{.cards = {card}, .price = 0};
    }
    [[nodiscard]] std::vector<ScoreTerm> terms(const NodeView&, const Offer&,
                                               const PodAsk&) const override {
        return {};
    }
};

}  // namespace tessera
