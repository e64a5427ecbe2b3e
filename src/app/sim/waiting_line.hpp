// Tasks that fit nowhere now, in the order that they came. Who comes later may go first: a task
// that does not fit keeps nobody waiting who does, as with kube-scheduler.
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

class WaitingLine {
  public:
    // By their indices in `tasks`, which outlives it.
    explicit WaitingLine(std::span<const ChurnTask> tasks) : tasks_(tasks) {}

    void add(std::size_t task);
    // Takes away the first, if it came before that time.
    std::optional<std::size_t> take_before(double time_s);
    // A node has more room than before, and nobody waits who fits anywhere else: offers the tasks
    // that fit on it to `place` in their order until none does. `place` puts it on any node.
    void offer(const Fleet& fleet, std::size_t node, const std::function<void(std::size_t)>& place);

    [[nodiscard]] std::size_t size() const { return size_; }

  private:
    // Of tasks that are alike. Ascending; not empty.
    using Alike = std::deque<std::size_t>;

    void drop_first(std::map<std::size_t, Alike*>::iterator of);

    std::span<const ChurnTask> tasks_;
    std::unordered_map<Task, Alike, TaskHash> alike_;
    std::map<std::size_t, Alike*> by_first_;
    std::size_t size_ = 0;
};

}  // namespace tessera
