// FGD's fragmentation of a whole cluster, while tasks arrive and end.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "domain/placement/engine/fragmentation.hpp"
#include "domain/placement/engine/placement_engine.hpp"

namespace tessera {

// Uses one thread; `engine` outlives this.
class Fragments {
  public:
    Fragments(const PlacementEngine& engine, std::span<const MixClass> mix)
        : engine_(engine), of_(mix), nodes_(engine.size()) {
        look_at_all();
    }

    // The fragmentation of all nodes now, in thousandths of a GPU. Costs only the changes since the
    // last call.
    double milli() {
        if (const auto changes = engine_.changes_since(seen_)) {
            for (const std::uint32_t node : *changes)
                look_at(node);
        } else {
            look_at_all();
        }
        seen_ = engine_.version();
        return sum_;
    }

  private:
    void look_at(std::size_t node) {
        sum_ -= nodes_[node];
        nodes_[node] = of_.of(engine_.load(node));
        sum_ += nodes_[node];
    }
    void look_at_all() {
        for (std::size_t node = 0; node < engine_.size(); ++node)
            look_at(node);
    }

    const PlacementEngine& engine_;
    Fragmentation of_;
    std::vector<double> nodes_;
    double sum_ = 0;
    std::uint64_t seen_ = 0;
};

}  // namespace tessera
