// Autoscaling of serving jobs: a HorizontalPodAutoscaler changes their numbers of pods.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "domain/workload/gpu_flags.hpp"

namespace tessera::workload {

struct ScalingFlags {
    int min_replicas = 1;
    int max_replicas = 0;         // 0: no autoscaling
    int target_gpu_use = 0;       // percent; 0: none
    int target_request_rate = 0;  // requests per second and pod; 0: none
    int scale_down_delay = kScaleDownDelay;

    static constexpr int kScaleDownDelay = 300;  // seconds, as Kubernetes has it
};

struct Scaling {
    int least = 1;  // pods
    int most = 1;
    // The average over the pods of the metric tessera_gpu_compute_use, in percent; 0: none.
    int gpu_use = 0;
    int request_rate = 0;  // the same of tessera_serving_requests_per_second
    // The number of pods is the largest that any of the last this many seconds needed.
    int scale_down_delay_s = ScalingFlags::kScaleDownDelay;

    friend bool operator==(const Scaling&, const Scaling&) = default;
};

// Nothing if the flags ask for no autoscaling. invalid_argument names the flag and the fix.
Result<std::optional<Scaling>> read_scaling(const ScalingFlags& flags, const Gpus& gpus);

// The number of pods to begin with. 0 stays, which suspends the autoscaling. invalid_argument if it
// is more than the most.
Result<int> initial_replicas(int replicas, const Scaling& scaling);

// A target, and what it is compared with.
struct ScalingMetric {
    std::string name;     // of the metric
    std::string target;   // a quantity
    std::string current;  // a quantity; empty: not known

    friend bool operator==(const ScalingMetric&, const ScalingMetric&) = default;
};

// A HorizontalPodAutoscaler, as the API server shows it.
struct ScalingStatus {
    int least = 1;
    int most = 1;
    int desired = 0;
    std::vector<ScalingMetric> metrics;
    std::string why;  // why it does not scale, or not as far as the metric says; empty if it does

    friend bool operator==(const ScalingStatus&, const ScalingStatus&) = default;
};

// Whether the HorizontalPodAutoscaler has these bounds and targets. It may have further metrics.
bool is_as(const ScalingStatus& now, const Scaling& wanted);

}  // namespace tessera::workload
