// A node as the controller sees it: its cards, and what is held on each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/quantity.hpp"
#include "domain/cluster/links.hpp"
#include "domain/request/gpu_request.hpp"
#include "domain/request/host_ask.hpp"

namespace tessera {

// Whether a card can be given. A fault makes it unhealthy, and an alert fires. A card that is set
// up for another use, or whose size is unknown, has no fault, and is not given either.
enum class GpuCondition { healthy, unhealthy, not_shareable };

// "healthy", "unhealthy", "not shareable".
std::string_view words_of(GpuCondition condition);

// Of a card whose driver does not say.
inline constexpr int kMinorUnknown = -1;

// One physical card, as its node's agent reports it (docs/formats/node-gpus.md).
struct Gpu {
    GpuUuid uuid;
    int index = 0;              // the driver's enumeration order
    int minor = kMinorUnknown;  // /dev/nvidia<minor>; need not equal the index
    std::string model;
    Bytes memory;    // physical; 0: unknown, of a card that is not usable
    Bytes reserved;  // kept by the driver itself
    Bytes excess;    // of the capacity: held by containers above limits that were lowered
    GpuCondition condition = GpuCondition::healthy;
    std::string reason;  // why not healthy, or not shareable and what to do about it
    CardLinks links;

    // What shares may hold together.
    [[nodiscard]] Bytes capacity() const { return memory - reserved; }
    [[nodiscard]] bool usable() const { return condition == GpuCondition::healthy; }

    friend bool operator==(const Gpu&, const Gpu&) = default;
};

// How a node holds containers to their shares of a card: docs/guard.md.
enum class Holding { none, guard };

// Who told us about the cards. A legacy node runs gpushare's device plugin: equal cards computed
// from its sums, known by index only (docs/research/gpushare.md §1.1).
enum class InventorySource { agent, legacy };

// The largest size that a report may name; no GPU has so much.
inline constexpr Bytes kMostGpuMemory{std::int64_t{1} << 50};

// What one node says of itself.
struct NodeInventory {
    NodeName name;
    std::string address;  // InternalIP; empty when the node has none
    InventorySource source = InventorySource::agent;
    MemoryUnit unit = MemoryUnit::gib;
    Holding shares = Holding::none;
    std::vector<Gpu> gpus;  // ascending index
    std::string fault;      // why the node's report could not be read; empty when it could
    // Why containers with a share do not start there, as the agent found: the guard cannot work on
    // the node, or no CDI device brings one of its GPUs. Empty where they do.
    std::string enforcement_fault;
    std::string handover_fault;
    std::int64_t gpu_mem = 0;  // aliyun.com/gpu-mem in the node's units, for gpushare's tools
    HostAsk host;              // what pods may take of it together (status.allocatable)

    friend bool operator==(const NodeInventory&, const NodeInventory&) = default;
};

// What is free on one card now. The hot data of placement: kept small and in one vector per node.
struct Card {
    Bytes capacity;
    Bytes held;
    Percent cores_held;
    int holders = 0;  // pods with a share here
    bool usable = true;
    Bytes excess;                   // beside `held`: Gpu::excess
    std::vector<CardGroup> groups;  // of the pods with a share here, once for each of them

    [[nodiscard]] Bytes free() const { return usable ? capacity - held - excess : Bytes{}; }

    friend bool operator==(const Card&, const Card&) = default;
};

// As nobody holds them. Parallel to the cards.
std::vector<Card> empty_cards(std::span<const Gpu> gpus);

// Parallel to the cards.
inline std::vector<Bytes> free_of(std::span<const Card> cards) {
    std::vector<Bytes> out;
    out.reserve(cards.size());
    for (const Card& card : cards)
        out.push_back(card.free());
    return out;
}

// A node's cards as placement is offered them.
struct Offer {
    std::span<const Gpu> gpus;
    std::span<const Card> cards;      // parallel
    std::span<const Bytes> free;      // parallel, too: Card::free() of each
    std::span<const Island> islands;  // by positions in these
    MemoryUnit unit = MemoryUnit::gib;
    // The node's own plugin hands one card to one container, and knows no more (gpushare's).
    bool single_share = false;
};

// The card that a share names; null when it is not on the node. Shares that were given while
// gpushare's plugin ran there name the card by its index (InventorySource::legacy).
const Gpu* find_gpu(std::span<const Gpu> gpus, const GpuUuid& uuid);

// The name of a card of which only the index is known.
GpuUuid uuid_of_index(int index);

// The name of a card that its driver lists and that never said who it is.
GpuUuid unidentified_gpu(int index);

// The card's size where a whole card is to count as more than any share.
inline constexpr Bytes kMoreThanAnyCard{std::int64_t{1} << 60};

// Bytes that one card must have free for `ask` on a node that counts in `unit`.
inline Bytes bytes_of(const MemoryAsk& ask, MemoryUnit unit, Bytes card_capacity) {
    switch (ask.kind) {
        case MemoryAsk::Kind::whole_card:
            return card_capacity;
        case MemoryAsk::Kind::bytes:
            return {ask.amount};
        case MemoryAsk::Kind::node_units:
            return {ask.amount * bytes_per_unit(unit).count};
    }
    return card_capacity;
}

}  // namespace tessera
