// What the controller counts, in Prometheus text. Any thread may call.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "app/scheduler/waiting.hpp"
#include "domain/cluster/view.hpp"
#include "ports/clock.hpp"
#include "ports/process_facts.hpp"

namespace tessera {

enum class Watched { nodes, pods };

// What the gauges show.
struct SchedulerFacts {
    const ClusterView& view;
    const WaitingCounts& waiting;
    bool synced = false;
    bool leads = false;
    std::size_t rooms = 0;  // promised to pods of higher priority
};

class SchedulerMetrics {
  public:
    // `clock` outlives it. Without `process` nothing is said of the process.
    explicit SchedulerMetrics(Clock& clock, ReadProcess process = {});
    ~SchedulerMetrics();

    void observe(std::string_view verb, std::chrono::nanoseconds took, bool failed);
    void count_api_trouble();
    void count_preempted();
    void count_given_up();
    void count_resize(bool is_granted);
    // A list was read, or the watch brought an event or a bookmark.
    void count_list(Watched what);
    void heard(Watched what);
    // The exposition: counters as they are, gauges from `facts`.
    [[nodiscard]] std::string expose(const SchedulerFacts& facts);

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
