// How many requests pods answer per second, for pods that a client requests. Only these are asked
// for their counters.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "domain/autoscaling/pod_metric.hpp"
#include "ports/autoscaling/request_counts.hpp"
#include "ports/clock.hpp"

namespace tessera {

class RequestRates {
  public:
    static constexpr std::chrono::seconds kPeriod{10};
    static constexpr std::chrono::seconds kWindow{30};
    static constexpr std::chrono::seconds kOldest{45};
    static constexpr std::chrono::minutes kWantedFor{2};
    static constexpr std::size_t kMostPods = 1'000;
    static constexpr std::size_t kMostOfNamespace = 250;

    // Both outlive this.
    RequestRates(RequestCounts& counts, Clock& clock) : counts_(counts), clock_(clock) {}

    // Asks the pods that are wanted. One thread, every kPeriod.
    void run_round(const std::stop_token& stop);

    // Any thread may call the following functions.
    // Notes that these pods' rates are wanted, all of one namespace. Pods without a counter, and
    // those beyond kMostOfNamespace or kMostPods, are left out.
    void want(const std::string& ns, std::span<const MeasuredPod> pods);
    // Nothing if the rate is not known.
    [[nodiscard]] std::optional<PodMetricValue> value(const PodUid& pod) const;

  private:
    struct Wanted {
        std::string ns;
        MeasuredPod pod;
        std::chrono::nanoseconds until{};
    };
    struct Rate {
        PodMetricValue value;
        std::chrono::nanoseconds at{};
    };

    std::vector<MeasuredPod> wanted();

    RequestCounts& counts_;
    Clock& clock_;
    std::map<PodUid, std::deque<RequestCount>> history_;  // of the thread of run_round

    mutable Mutex mutex_;
    std::map<PodUid, Wanted> wanted_ TESSERA_GUARDED_BY(mutex_);
    std::map<PodUid, Rate> rates_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace tessera
