// From which of a node's cards a container takes its own, by how they are linked: several near each
// other, a single one where it breaks up the least.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "domain/cluster/node.hpp"

namespace tessera {

// Whether cards near each other are preferred where the pod does not insist on a link.
enum class Nearness { preferred, as_asked };

// Reused across nodes by one thread so that little is allocated per node.
class CardSets {
  public:
    // Sets from which the container takes its cards: the first that has room is the best. Islands
    // (islands.hpp) in their order, and of those that are alike the one with the least free; then
    // any cards, where the pod does not insist. Valid until the next call.
    std::span<const CardMask> of(const Offer& offer, const GpuRequest& gpu, Nearness nearness);

  private:
    struct Choice {
        std::size_t island;  // the first of those that are alike
        Bytes free;
        CardMask cards;
    };

    std::vector<Choice> choices_;
    std::vector<CardMask> sets_;
};

// `card`, or one that is like it, idle and in whose islands fewer others are idle: to take it
// leaves larger islands whole. `may_take` says which.
std::size_t least_missed(const Offer& offer, std::size_t card,
                         const std::function<bool(std::size_t)>& may_take);

}  // namespace tessera
