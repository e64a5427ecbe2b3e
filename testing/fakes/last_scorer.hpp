// A placement policy whose choices differ from those of every real policy.
#pragma once

#include <gtest/gtest.h>

#include "domain/placement/node_scorer.hpp"

namespace tessera {

// Scores nodes by the first letter of their names, later letters higher. Chooses the last GPU with
// enough free memory.
class LastScorer final : public NodeScorer {
  public:
    [[nodiscard]] std::vector<std::int64_t> score(const Snapshot&, std::span<const std::uint32_t>,
                                                  const PodRequest&) const override {
        ADD_FAILURE() << "tests must call score_room(), not score()";
        return {};
    }
    [[nodiscard]] std::int64_t score_room(const NodeInfo& node, const NodeGpus& /*room*/,
                                          const PodRequest& /*pod*/) const override {
        return node.inventory.name.str().front();
    }
    [[nodiscard]] bool has_random_tie_break() const override { return false; }
    [[nodiscard]] std::optional<Assignment> choose(const NodeInfo& /*node*/, const NodeGpus& room,
                                                   const PodRequest& pod) const override {
        const Bytes request = bytes_of(pod.containers.front().gpu.memory, room.unit, {});
        int gpu = static_cast<int>(room.free.size()) - 1;
        while (room.free[static_cast<std::size_t>(gpu)] < request)
            --gpu;
        return Assignment{.gpus = {gpu}, .price = 0};
    }
    [[nodiscard]] std::vector<ScoreTerm> terms(const NodeInfo&, const NodeGpus&,
                                               const PodRequest&) const override {
        return {};
    }
};

}  // namespace tessera
