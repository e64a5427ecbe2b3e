// The metrics of pods by which a HorizontalPodAutoscaler can scale.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera {

enum class PodMetric { compute_use, memory_use, request_rate };

struct PodMetricRow {
    PodMetric metric;
    std::string_view name;
    std::string_view meaning;
};

inline constexpr auto kPodMetrics = std::to_array<PodMetricRow>({
    {PodMetric::compute_use, "tessera_gpu_compute_use",
     "GPU time that the pod used, in percent of its guarantee (gpu-cores)"},
    {PodMetric::memory_use, "tessera_gpu_memory_use",
     "GPU memory that the pod uses, in percent of its GPU memory"},
    {PodMetric::request_rate, "tessera_serving_requests_per_second",
     "Requests that the model server of the pod answered, per second"},
});

constexpr const PodMetricRow& row_of(PodMetric metric) {
    return *std::ranges::find(kPodMetrics, metric, &PodMetricRow::metric);
}

// Nothing if there is no metric of this name.
constexpr std::optional<PodMetric> find_pod_metric(std::string_view name) {
    const auto row = std::ranges::find(kPodMetrics, name, &PodMetricRow::name);
    return row == kPodMetrics.end() ? std::nullopt : std::optional(row->metric);
}

// A measurement of one pod.
struct PodMetricValue {
    std::int64_t unix_s = 0;    // when it was taken
    std::int64_t window_s = 0;  // over which it is an average; 0: at that moment
    std::int64_t milli = 0;     // thousandths of the metric's unit

    friend bool operator==(const PodMetricValue&, const PodMetricValue&) = default;
};

}  // namespace tessera
