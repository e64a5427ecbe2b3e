// Answers the custom metrics API (wire/autoscaling/custom_metrics_json.hpp). The API server has
// authenticated and authorized the requests that it passes on.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "app/common/route_answer.hpp"
#include "app/scheduler/custom_metrics/request_rates.hpp"
#include "app/scheduler/custom_metrics/use_sampler.hpp"
#include "ports/autoscaling/measured_pods.hpp"
#include "wire/autoscaling/custom_metrics_json.hpp"

namespace tessera {

class CustomMetricsApi {
  public:
    // Further requests at the same time are answered 503: the admission webhook has the same
    // threads, and the list of a namespace's pods may take long.
    static constexpr int kAtOnce = 8;

    // All of them outlive this.
    CustomMetricsApi(UseSampler& sampler, RequestRates& rates, MeasuredPods& pods)
        : sampler_(sampler), rates_(rates), pods_(pods) {}

    // Any thread. `path`: decoded, without the query; `query`: as it was sent. Pods whose value is
    // not known are left out. A request for one such pod is answered 404.
    RouteAnswer answer(std::string_view path, std::string_view query);

  private:
    Result<std::string> bounded_body_of(const MetricsRequest& request);
    Result<std::string> body_of(const MetricsRequest& request);
    Result<std::string> values(const MetricsRequest& request);
    Result<std::vector<MeasuredPod>> pods_of(const MetricsRequest& request);

    UseSampler& sampler_;
    RequestRates& rates_;
    MeasuredPods& pods_;
    std::atomic<int> in_progress_ = 0;
};

}  // namespace tessera
