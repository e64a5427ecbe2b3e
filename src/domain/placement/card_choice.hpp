// Which of a node's cards a policy gives to a container. One rule for the controller
// (app/scheduler/ratings) and for who replays it (app/sim/live_placer).
#pragma once

#include <cstdint>
#include <optional>

#include "domain/cluster/node.hpp"
#include "domain/placement/card_sets.hpp"
#include "domain/placement/fleet/node_load.hpp"
#include "domain/placement/fleet/policy.hpp"

namespace tessera {

// One container on one node.
struct CardQuestion {
    const Offer& offer;
    const NodeLoad& load;  // what the pod's rules and its other containers leave
    const GpuRequest& gpu;
    const Task& task;   // the same in thousandths
    CardMask open = 0;  // the cards that have room for it
};

// Of the sets from which it may take its cards (CardSets) the first that has the room; nothing
// where none has.
std::optional<CardMask> first_with_room(CardSets& sets, const Offer& offer, const GpuRequest& gpu,
                                        CardMask open);

// The policy's cards of that set, and of cards that are alike the one that is missed least. Nothing
// where there is no such set, or the policy finds no room in it. `draw` is the pod's.
std::optional<CardSet> choose_cards(CardSets& sets, const CardQuestion& asked, FleetPolicy& policy,
                                    std::uint64_t draw);

}  // namespace tessera
