#include "domain/serving/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "domain/autoscaling/pod_metric.hpp"
#include "domain/workload/refuse_flag.hpp"

namespace tessera::workload {
namespace {

// A pod may use more than its guarantee.
constexpr int kMostUse = 1'000;
constexpr int kMostRate = 1'000'000;

// The flags that mean something only with autoscaling.
Result<> check_off(const ScalingFlags& flags) {
    constexpr std::string_view kNeeds =
        "needs --max-replicas, the largest number of pods of the autoscaling";
    if (flags.target_gpu_use != 0) return refuse("--target-gpu-use", kNeeds);
    if (flags.target_request_rate != 0) return refuse("--target-request-rate", kNeeds);
    if (flags.min_replicas != 1) return refuse("--min-replicas", kNeeds);
    if (flags.scale_down_delay != ScalingFlags::kScaleDownDelay)
        return refuse("--scale-down-delay", kNeeds);
    return {};
}

Result<> check_targets(const ScalingFlags& flags, const Gpus& gpus) {
    if (flags.target_gpu_use == 0 && flags.target_request_rate == 0) {
        return refuse(
            "--max-replicas",
            "needs --target-gpu-use or --target-request-rate, by which the number of pods "
            "changes");
    }
    if (flags.target_gpu_use < 0 || flags.target_gpu_use > kMostUse) {
        return refuse("--target-gpu-use", fmt::format("{} is not a percentage from 1 to {}",
                                                      flags.target_gpu_use, kMostUse));
    }
    if (flags.target_request_rate < 0 || flags.target_request_rate > kMostRate) {
        return refuse("--target-request-rate", fmt::format("{} is not a number from 1 to {}",
                                                           flags.target_request_rate, kMostRate));
    }
    if (flags.target_gpu_use > 0 && gpus.cores.value == 0) {
        return refuse("--target-gpu-use",
                      "needs --gpucore: the use is a percentage of that guarantee, and without one "
                      "GPU time is not measured");
    }
    return {};
}

}  // namespace

Result<std::optional<Scaling>> read_scaling(const ScalingFlags& flags, const Gpus& gpus) {
    if (flags.max_replicas == 0) {
        TRY_VOID(check_off(flags));
        return std::optional<Scaling>();
    }
    if (flags.min_replicas < 1)
        return refuse("--min-replicas", "is 0, but a HorizontalPodAutoscaler keeps at least 1 pod");
    if (flags.min_replicas > flags.max_replicas) {
        return refuse("--min-replicas", fmt::format("{} is more than --max-replicas {}",
                                                    flags.min_replicas, flags.max_replicas));
    }
    TRY_VOID(check_targets(flags, gpus));
    return std::optional(Scaling{.least = flags.min_replicas,
                                 .most = flags.max_replicas,
                                 .gpu_use = flags.target_gpu_use,
                                 .request_rate = flags.target_request_rate,
                                 .scale_down_delay_s = flags.scale_down_delay});
}

Result<int> initial_replicas(int replicas, const Scaling& scaling) {
    if (replicas > scaling.most) {
        return refuse(
            "--replicas",
            fmt::format("{} is more than --max-replicas {}; give both, with at most as many "
                        "replicas",
                        replicas, scaling.most));
    }
    return replicas == 0 ? 0 : std::max(replicas, scaling.least);
}

bool is_as(const ScalingStatus& now, const Scaling& wanted) {
    const auto has = [&](PodMetric metric, int target) {
        const auto found =
            std::ranges::find(now.metrics, row_of(metric).name, &ScalingMetric::name);
        if (found == now.metrics.end()) return target == 0;
        return found->target == std::to_string(target);
    };
    return now.least == wanted.least && now.most == wanted.most &&
           has(PodMetric::compute_use, wanted.gpu_use) &&
           has(PodMetric::request_rate, wanted.request_rate);
}

}  // namespace tessera::workload
