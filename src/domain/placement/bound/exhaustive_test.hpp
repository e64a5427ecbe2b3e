// All ways to place a few tasks on a few nodes: what the bound is held against.
#pragma once

#include <algorithm>
#include <bit>
#include <optional>
#include <span>
#include <vector>

#include "domain/placement/bound/problem.hpp"
#include "domain/placement/fleet/node_load.hpp"

namespace tessera {

// The most cards that the tasks can hold, when any may be dropped that need not be kept; nothing
// when those cannot be. Takes as long as it takes.
class Exhaustive {
  public:
    Exhaustive(std::span<const NodeShape> nodes, std::span<const Task> tasks, CpuOnlyTasks cpu_only)
        : tasks_(tasks), cpu_only_(cpu_only) {
        for (const NodeShape& node : nodes)
            loads_.push_back(empty_load(node));
    }

    std::optional<double> most_cards() {
        best_ = -1;
        go_on(0, 0);
        return best_ < 0 ? std::nullopt : std::optional(best_ / 1000.0);
    }

  private:
    void go_on(std::size_t at, int held) {
        if (at == tasks_.size()) {
            best_ = std::max(best_, held);
            return;
        }
        const Task& task = tasks_[at];
        for (NodeLoad& load : loads_) {
            if (!can_take(load, task)) continue;
            for (unsigned cards = 0; cards < 1U << static_cast<unsigned>(load.cards); ++cards) {
                if (!have_room(load, task, cards)) continue;
                const NodeLoad before = load;
                load = load_after(load, task, static_cast<CardSet>(cards));
                go_on(at + 1, held + task.milli * task.count);
                load = before;
            }
        }
        const bool may_be_dropped = task.count > 0 || cpu_only_ == CpuOnlyTasks::may_be_dropped;
        if (may_be_dropped) go_on(at + 1, held);
    }

    static bool have_room(const NodeLoad& load, const Task& task, unsigned cards) {
        if (std::popcount(cards) != task.count) return false;
        for (std::size_t card = 0; card < load.milli.size(); ++card) {
            const bool is_chosen = (cards >> card & 1U) != 0;
            if (is_chosen && load.milli[card] < task.milli) return false;
        }
        return true;
    }

    std::span<const Task> tasks_;
    CpuOnlyTasks cpu_only_;
    std::vector<NodeLoad> loads_;
    int best_ = -1;  // milli
};

}  // namespace tessera
