// Tasks and gangs that fit nowhere now, in the order that they came. Who comes later may go first:
// a task that does not fit keeps nobody waiting who does, as with kube-scheduler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>

#include "app/sim/churn_workload.hpp"
#include "domain/placement/fleet/fleet.hpp"

namespace tessera {

// Tasks that are alike: where one finds no room, neither does another.
struct WaitingKind {
    Task task;
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
    // By their indices in `tasks`, which outlives it.
    explicit WaitingLine(std::span<const ChurnTask> tasks) : tasks_(tasks) {}

    void add(std::size_t task);
    // Takes away the first, if it came before that time.
    std::optional<std::size_t> take_before(double time_s);
    [[nodiscard]] bool has(std::size_t task) const;
    // It is there.
    void take(std::size_t task);
    // A node has more room than before, and nobody waits who fits anywhere else: offers the tasks
    // that fit on it to `place` in their order until none does. `place` puts it on any node, or
    // says that there is no room for all of a gang.
    void offer(const Fleet& fleet, std::size_t node, const std::function<bool(std::size_t)>& place);

    [[nodiscard]] std::size_t size() const { return size_; }

  private:
    // Of tasks that are alike. Ascending; not empty.
    using Alike = std::deque<std::size_t>;

    void drop_first(std::map<std::size_t, Alike*>::iterator of);

    std::span<const ChurnTask> tasks_;
    std::unordered_map<WaitingKind, Alike, WaitingKindHash> alike_;
    std::map<std::size_t, Alike*> by_first_;
    std::size_t size_ = 0;
};

}  // namespace tessera
