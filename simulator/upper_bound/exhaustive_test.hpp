// Tries all ways to place a few tasks on a few nodes; the tests compare the bound with the result.
#pragma once

#include <algorithm>
#include <bit>
#include <optional>
#include <span>
#include <vector>

#include "domain/placement/engine/node_load.hpp"
#include "simulator/upper_bound/problem.hpp"

namespace tessera {

// The most GPUs that the tasks can use, if tasks that need not be kept may be dropped. Nothing if
// those that must be kept do not fit. The run time is exponential.
class Exhaustive {
  public:
    Exhaustive(std::span<const NodeShape> nodes, std::span<const PlacementTask> tasks,
               CpuOnlyTasks cpu_only)
        : tasks_(tasks), cpu_only_(cpu_only) {
        for (const NodeShape& node : nodes)
            loads_.push_back(empty_load(node));
    }

    std::optional<double> most_gpus() {
        best_ = -1;
        go_on(0, 0);
        return best_ < 0 ? std::nullopt : std::optional(best_ / 1000.0);
    }

  private:
    void go_on(std::size_t at, int allocated) {
        if (at == tasks_.size()) {
            best_ = std::max(best_, allocated);
            return;
        }
        const PlacementTask& task = tasks_[at];
        for (NodeLoad& load : loads_) {
            if (!can_take(load, task)) continue;
            for (unsigned gpus = 0; gpus < 1U << static_cast<unsigned>(load.gpus); ++gpus) {
                if (!have_room(load, task, gpus)) continue;
                const NodeLoad before = load;
                load = load_after(load, task, static_cast<GpuSet>(gpus));
                go_on(at + 1, allocated + task.milli * task.count);
                load = before;
            }
        }
        const bool may_be_dropped = task.count > 0 || cpu_only_ == CpuOnlyTasks::may_be_dropped;
        if (may_be_dropped) go_on(at + 1, allocated);
    }

    static bool have_room(const NodeLoad& load, const PlacementTask& task, unsigned gpus) {
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
    int best_ = -1;  // milli
};

}  // namespace tessera
