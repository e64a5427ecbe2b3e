// The controller's metrics as Prometheus text. Any thread may call.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "app/scheduler/budget/budget_table.hpp"
#include "app/scheduler/filter/waiting.hpp"
#include "domain/cluster/snapshot.hpp"
#include "ports/clock.hpp"
#include "ports/process_facts.hpp"

namespace tessera {

enum class Watched { nodes, pods };

// The values of the label `outcome` of tessera_nominations_total, by their names.
enum class NominationOutcome { made, followed, not_followed, expired, failed, overtaken };

// The values of the gauges.
struct SchedulerFacts {
    const Snapshot& snapshot;
    const WaitingCounts& waiting;
    bool synced = false;
    bool leads = false;
    std::size_t reservations = 0;  // current preemption reservations
    std::size_t nominated = 0;     // current nominations ahead of their turn
    std::shared_ptr<const BudgetTable::Rows> budgets = nullptr;  // null: there are none
};

class SchedulerMetrics {
  public:
    // `clock` outlives this. Without `process` there are no process metrics.
    explicit SchedulerMetrics(Clock& clock, ReadProcess process = {});
    ~SchedulerMetrics();

    void observe(std::string_view verb, std::chrono::nanoseconds took, bool failed);
    void count_watch_error();
    void count_preempted();
    void count_given_up();
    void count_resize(bool is_granted);
    void count_nomination(NominationOutcome outcome);
    // A list was read, or the watch delivered an event or a bookmark.
    void count_list(Watched what);
    void heard(Watched what);
    // The exposition: the counters, and gauges from `facts`.
    [[nodiscard]] std::string expose(const SchedulerFacts& facts);

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
