// What the nodes of a cluster cost, and which of them is the cheapest: a tournament, so that a
// change of one node costs the logarithm of their number.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "domain/placement/node_price.hpp"

namespace tessera::defrag {

class PriceList {
  public:
    // At first none of the nodes has a price.
    explicit PriceList(std::size_t nodes)
        : leaves_(std::bit_ceil(std::max<std::size_t>(nodes, 1))),
          prices_(leaves_, kNone),
          winners_(2 * leaves_) {
        for (std::size_t i = 0; i < leaves_; ++i)
            winners_[leaves_ + i] = static_cast<std::uint32_t>(i);
        for (std::size_t at = leaves_ - 1; at > 0; --at)
            winners_[at] = winners_[2 * at];
    }

    void set(std::size_t node, const std::optional<NodePrice>& price) {
        prices_[node] = price.value_or(kNone);
        for (std::size_t at = (leaves_ + node) / 2; at > 0; at /= 2) {
            const std::uint32_t left = winners_[2 * at];
            const std::uint32_t right = winners_[2 * at + 1];
            winners_[at] = prices_[right] < prices_[left] ? right : left;
        }
    }
    [[nodiscard]] std::optional<NodePrice> price(std::size_t node) const {
        return prices_[node] == kNone ? std::nullopt : std::optional(prices_[node]);
    }
    // The first among equals; nothing where no node has a price.
    [[nodiscard]] std::optional<std::size_t> cheapest() const {
        const std::size_t node = winners_[1];
        return prices_[node] == kNone ? std::nullopt : std::optional(node);
    }

  private:
    static constexpr NodePrice kNone{std::numeric_limits<std::int64_t>::max(),
                                     std::numeric_limits<std::int64_t>::max()};

    std::size_t leaves_;
    std::vector<NodePrice> prices_;
    std::vector<std::uint32_t> winners_;  // of each pair, the whole's at 1; the leaves at last
};

}  // namespace tessera::defrag
