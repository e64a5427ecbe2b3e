// Which cards of a node reach each other directly: what the agent tells of it, and the islands that
// placement sees.
#pragma once

#include <cstddef>
#include <cstdint>

#include "domain/request/link.hpp"

namespace tessera {

inline constexpr int kNumaUnknown = -1;

inline constexpr int kMostLinkedIndex = 63;

// Of one card. A set is a bit per card by its index in the driver; what is beyond
// kMostLinkedIndex is not told.
struct CardLinks {
    int numa = kNumaUnknown;   // the NUMA node of its PCIe slot
    std::uint64_t pcie = 0;    // the cards behind the same PCIe switches
    std::uint64_t nvlink = 0;  // those that it reaches by NVLink, through NVSwitch as well

    friend bool operator==(const CardLinks&, const CardLinks&) = default;
};

// Cards of one node by their position in its list.
using CardMask = std::uint64_t;
inline constexpr CardMask kAnyCards = ~CardMask{0};

constexpr bool is_among(CardMask cards, std::size_t card) {
    return ((cards >> (card < 64 ? card : 63)) & 1) != 0;
}

// Cards of which each two are linked by all of these, and to which none can be added.
struct Island {
    unsigned links = 0;  // of Link: the larger, the nearer
    CardMask cards = 0;  // two at least
    // Larger islands that have some of its cards and not all: who takes cards here breaks them up.
    int crossed = 0;

    [[nodiscard]] bool has(Link link) const { return (links & static_cast<unsigned>(link)) != 0; }

    friend bool operator==(const Island&, const Island&) = default;
};

}  // namespace tessera
