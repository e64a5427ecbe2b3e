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

// An equivalence class of tasks: if one of them cannot be placed, none can.
struct TaskClass {
    PlacementTask task;
    int gang = 1;  // number of pods
    NodeCap cap;

    friend bool operator==(const TaskClass&, const TaskClass&) = default;
};
struct TaskClassHash {
    std::size_t operator()(const TaskClass& kind) const {
        return TaskHash{}(kind.task) + static_cast<std::size_t>(kind.gang) +
               (static_cast<std::size_t>(kind.cap.app + 1) << 16U);
    }
};
inline TaskClass class_of(const ChurnTask& task) {
    return {task.task, task.gang, task.cap};
}

// Used by one thread.
class WaitingLine {
  public:
    // Tasks are identified by their index in `tasks`, which are in order of arrival and outlive
    // this.
    explicit WaitingLine(std::span<const ChurnTask> tasks) : tasks_(tasks) {}

    // Add tasks in order of arrival.
    void add(std::size_t task);
    // Removes and returns the first task, if it arrived before that time.
    std::optional<std::size_t> pop_arrived_before(double time_s);
    [[nodiscard]] bool contains(std::size_t task) const;
    // Removes the task, which must be in the line.
    void remove(std::size_t task);
    // Call this once for each node on which tasks ended, if no waiting task fitted anywhere before
    // that. Calls `place` for each task that fits on the node, in order. `place` may use any node.
    // It returns false if the task, or a pod of the gang, cannot be placed: it stays in the line.
    void place_waiting_on(const PlacementEngine& engine, std::size_t node,
                          const std::function<bool(std::size_t)>& place);

    [[nodiscard]] std::size_t size() const { return size_; }

  private:
    // The tasks of one class, ascending.
    using Indices = std::deque<std::size_t>;

    void drop_first(std::map<std::size_t, Indices*>::iterator of);

    std::span<const ChurnTask> tasks_;
    std::unordered_map<TaskClass, Indices, TaskClassHash> classes_;
    std::map<std::size_t, Indices*> by_first_;  // the classes with tasks, by their first task
    std::size_t size_ = 0;
};

}  // namespace tessera
