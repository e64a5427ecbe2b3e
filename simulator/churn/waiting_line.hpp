// Tasks and gangs that fit nowhere now, in order of arrival. A later one may be placed first: as
// with kube-scheduler, a task that does not fit does not block tasks that do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>

#include "domain/placement/engine/placement_engine.hpp"
#include "simulator/churn/churn_workload.hpp"

namespace tessera {

// Identical tasks: if one finds no room, neither does another.
struct WaitingKind {
    PlacementTask task;
    int gang = 1;
    NodeCap cap;

    friend bool operator==(const WaitingKind&, const WaitingKind&) = default;
};
struct WaitingKindHash {
    std::size_t operator()(const WaitingKind& kind) const {
        return TaskHash{}(kind.task) + static_cast<std::size_t>(kind.gang) +
               (static_cast<std::size_t>(kind.cap.app + 1) << 16U);
    }
};
inline WaitingKind waiting_kind(const ChurnTask& task) {
    return {task.task, task.gang, task.cap};
}

class WaitingLine {
  public:
    // Tasks are identified by their index in `tasks`, which outlives this.
    explicit WaitingLine(std::span<const ChurnTask> tasks) : tasks_(tasks) {}

    void add(std::size_t task);
    // Removes and returns the first task, if it arrived before that time.
    std::optional<std::size_t> take_before(double time_s);
    [[nodiscard]] bool has(std::size_t task) const;
    // Removes the task, which must be in the line.
    void take(std::size_t task);
    // Call this when a node has more room than before, and no waiting task fits on any other node.
    // Offers the tasks that fit on the node to `place`, in order, until none does. `place` puts the
    // task on any node, or says that there is no room for all of a gang.
    void node_gpus(const PlacementEngine& engine, std::size_t node,
                   const std::function<bool(std::size_t)>& place);

    [[nodiscard]] std::size_t size() const { return size_; }

  private:
    // The indices of identical tasks, ascending; not empty.
    using Alike = std::deque<std::size_t>;

    void drop_first(std::map<std::size_t, Alike*>::iterator of);

    std::span<const ChurnTask> tasks_;
    std::unordered_map<WaitingKind, Alike, WaitingKindHash> alike_;
    std::map<std::size_t, Alike*> by_first_;
    std::size_t size_ = 0;
};

}  // namespace tessera
