// What the controller counts, in Prometheus text. Any thread may call.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "domain/cluster/view.hpp"

namespace tessera {

class SchedulerMetrics {
  public:
    SchedulerMetrics();
    ~SchedulerMetrics();

    void observe(std::string_view verb, std::chrono::nanoseconds took, bool failed);
    void count_api_trouble();
    // The exposition: counters as they are, gauges from `view`.
    [[nodiscard]] std::string expose(const ClusterView& view, std::size_t pending_pods, bool synced,
                                     bool leads);

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
