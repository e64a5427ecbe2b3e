// Nodes and pods in the terms of the placement engine (fleet/node_load.hpp): thousandths of a card,
// of its memory or of its compute, whichever is more asked for, or less free. What is asked is
// rounded up and what is free down, so that what fits in thousandths fits in bytes; the other way
// round a share may fit that the engine knows nothing of (NodeRater).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "domain/cluster/node.hpp"
#include "domain/cluster/pod_ask.hpp"
#include "domain/cluster/tenant.hpp"
#include "domain/placement/fleet/node_load.hpp"

namespace tessera {

struct NodeView;

// Thousandths of a card that a share takes, at most kMilliPerCard.
std::int16_t milli_of(Bytes memory, Percent cores, Bytes card);
// That are free; a card that someone holds is never wholly free.
std::int16_t free_milli(const Card& card);

// The load of a node, but for `load` itself; `used` is what all its pods take of the host.
NodeLoad load_of(const NodeView& node, int model, const HostAsk& used);
// The same load with these cards in place of its own, as when others are reckoned with.
NodeLoad with_cards(NodeLoad load, std::span<const Card> cards);

// One task per container, on cards of that capacity; what the pod takes of the host is in the
// first. Nothing for what the engine has no terms for: a share larger than the card, containers
// that do not run side by side (init containers), more cards than a node may have.
std::optional<std::vector<Task>> tasks_of(const PodAsk& pod, MemoryUnit unit, Bytes card);

}  // namespace tessera
