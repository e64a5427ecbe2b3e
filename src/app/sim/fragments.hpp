// FGD's fragmentation of a whole fleet, while tasks come and go.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "domain/placement/fleet/fleet.hpp"
#include "domain/placement/fleet/fragmentation.hpp"

namespace tessera {

// One thread; `fleet` outlives it.
class Fragments {
  public:
    Fragments(const Fleet& fleet, std::span<const MixClass> mix)
        : fleet_(fleet), of_(mix), nodes_(fleet.size()) {
        look_at_all();
    }

    // Of all nodes as they are now, in thousandths of a card. Costs the changes since it was asked
    // for last.
    double milli() {
        if (const auto changes = fleet_.changes_since(seen_)) {
            for (const std::uint32_t node : *changes)
                look_at(node);
        } else {
            look_at_all();
        }
        seen_ = fleet_.version();
        return sum_;
    }

  private:
    void look_at(std::size_t node) {
        sum_ -= nodes_[node];
        nodes_[node] = of_.of(fleet_.load(node));
        sum_ += nodes_[node];
    }
    void look_at_all() {
        for (std::size_t node = 0; node < fleet_.size(); ++node)
            look_at(node);
    }

    const Fleet& fleet_;
    Fragmentation of_;
    std::vector<double> nodes_;
    double sum_ = 0;
    std::uint64_t seen_ = 0;
};

}  // namespace tessera
