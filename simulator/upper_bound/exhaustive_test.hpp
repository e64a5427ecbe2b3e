// Tries all ways to place a few tasks on a few nodes. Tests compare upper_bound() with the result.
#pragma once

#include <algorithm>
#include <bit>
#include <optional>
#include <span>
#include <vector>

#include "domain/placement/engine/node_load.hpp"
#include "simulator/upper_bound/problem.hpp"

namespace tessera {

// Time: exponential in the number of tasks and GPUs. Used by one thread.
class ExhaustiveSearch {
  public:
    // `tasks` outlive this.
    ExhaustiveSearch(std::span<const NodeShape> nodes, std::span<const PlacementTask> tasks,
                     CpuOnlyTasks cpu_only)
        : tasks_(tasks), cpu_only_(cpu_only) {
        for (const NodeShape& node : nodes)
            loads_.push_back(empty_load(node));
    }

    // The largest total request, in GPUs, of tasks that fit on the nodes together. A task with GPUs
    // may be left out; one without GPUs only as `cpu_only` says. Nothing if the others do not fit.
    std::optional<double> most_gpus() {
        best_ = -1;
        place_from(0, 0);
        return best_ < 0 ? std::nullopt : std::optional(best_ / double{kMilliPerGpu});
    }

  private:
    void place_from(std::size_t index, int allocated) {
        if (index == tasks_.size()) {
            best_ = std::max(best_, allocated);
            return;
        }
        const PlacementTask& task = tasks_[index];
        for (NodeLoad& load : loads_) {
            if (!can_take(load, task)) continue;
            for (unsigned gpus = 0; gpus < 1U << static_cast<unsigned>(load.gpus); ++gpus) {
                if (!fits_on(load, task, gpus)) continue;
                const NodeLoad before = load;
                load = load_after(load, task, static_cast<GpuSet>(gpus));
                place_from(index + 1, allocated + task.milli * task.count);
                load = before;
            }
        }
        const bool may_be_dropped = task.count > 0 || cpu_only_ == CpuOnlyTasks::may_be_dropped;
        if (may_be_dropped) place_from(index + 1, allocated);
    }

    static bool fits_on(const NodeLoad& load, const PlacementTask& task, unsigned gpus) {
        if (std::popcount(gpus) != task.count) return false;
        for (std::size_t gpu = 0; gpu < load.milli.size(); ++gpu) {
            const bool is_chosen = (gpus >> gpu & 1U) != 0;
            if (is_chosen && load.milli[gpu] < task.milli) return false;
        }
        return true;
    }

    std::span<const PlacementTask> tasks_;
    CpuOnlyTasks cpu_only_;
    std::vector<NodeLoad> loads_;
    int best_ = -1;  // thousandths of a GPU; -1: none found
};

}  // namespace tessera
