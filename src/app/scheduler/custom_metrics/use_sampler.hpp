// How pods use their GPU shares, for metrics that a client requests. While none does, the agents
// are not asked either.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <stop_token>
#include <string>

#include "base/mutex.hpp"
#include "domain/autoscaling/pod_gpu_use.hpp"
#include "domain/autoscaling/pod_metric.hpp"
#include "ports/autoscaling/agent_reports.hpp"
#include "ports/clock.hpp"

namespace tessera {

class UseSampler {
  public:
    static constexpr std::chrono::seconds kPeriod{10};
    // The use of compute is an average over the reports of this time.
    static constexpr std::chrono::seconds kWindow{30};
    // Older values are not given out.
    static constexpr std::chrono::seconds kOldest{45};
    // The agents are asked for this long after a request. HPA controllers ask every 15 s.
    static constexpr std::chrono::minutes kWantedFor{5};

    // Both outlive this.
    UseSampler(AgentReports& reports, Clock& clock) : reports_(reports), clock_(clock) {}

    // Asks the agents, if the metrics are wanted. One thread, every kPeriod.
    void run_round(const std::stop_token& stop);

    // Any thread may call the following functions.
    // Notes that the metrics are wanted. unavailable or unsupported, with what to do, as long as
    // there are no reports.
    Result<> want();
    // Nothing if the pod's use is not known.
    [[nodiscard]] std::optional<PodMetricValue> value(const PodUid& pod, PodMetric metric) const;

  private:
    struct Measured {
        PodGpuUse use;
        std::chrono::nanoseconds at{};
        std::int64_t unix_s = 0;
        std::int64_t window_s = 0;  // of the use of compute
    };

    void take(std::vector<AgentReport> reports);

    AgentReports& reports_;
    Clock& clock_;
    // Of the thread of run_round: the reports of each node, the newest last.
    std::map<NodeName, std::deque<AgentReport>> history_;
    std::string fault_;  // the last logged one, as long as it lasts

    mutable Mutex mutex_;
    std::optional<std::chrono::nanoseconds> wanted_until_ TESSERA_GUARDED_BY(mutex_);
    std::map<PodUid, Measured> values_ TESSERA_GUARDED_BY(mutex_);
    Result<> state_ TESSERA_GUARDED_BY(mutex_);  // why there are no reports
};

}  // namespace tessera
