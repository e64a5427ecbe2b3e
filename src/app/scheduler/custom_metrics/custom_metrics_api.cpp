#include "app/scheduler/custom_metrics/custom_metrics_api.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace tessera {
namespace {

std::string_view needs_of(PodMetric metric) {
    switch (metric) {
        case PodMetric::compute_use:
            return "a GPU share with gpu-cores";
        case PodMetric::memory_use:
            return "a GPU share";
        case PodMetric::request_rate:
            return "the annotation tessera.dev/request-counter, metrics that were read twice, and "
                   "no more than 250 such pods in its namespace or 1,000 in the cluster";
    }
    return "";
}

}  // namespace

Result<std::vector<MeasuredPod>> CustomMetricsApi::pods_of(const MetricsRequest& request) {
    if (request.pod.empty()) return pods_.select(request.ns, request.label_selector);
    TRY(MeasuredPod pod, pods_.get(request.ns, request.pod));
    return std::vector{std::move(pod)};
}

Result<std::string> CustomMetricsApi::values(const MetricsRequest& request) {
    const bool is_rate = request.metric == PodMetric::request_rate;
    if (!is_rate) TRY_VOID(sampler_.want());
    TRY(const std::vector<MeasuredPod> pods, pods_of(request));
    if (is_rate) rates_.want(request.ns, pods);
    std::vector<NamedMetricValue> found;
    found.reserve(pods.size());
    for (const MeasuredPod& pod : pods) {
        const auto value =
            is_rate ? rates_.value(pod.uid) : sampler_.value(pod.uid, request.metric);
        if (value) found.push_back({pod.name, *value});
    }
    if (found.empty() && !request.pod.empty()) {
        return fail(Code::not_found, fmt::format("{} of pod {} is not known: it needs {}",
                                                 row_of(request.metric).name, request.pod,
                                                 needs_of(request.metric)));
    }
    return write_metric_values(request.ns, request.metric, found);
}

Result<std::string> CustomMetricsApi::body_of(const MetricsRequest& request) {
    switch (request.resource) {
        case MetricsResource::group:
            return write_metrics_group();
        case MetricsResource::version:
            return write_metrics_resources();
        case MetricsResource::values:
            return values(request);
    }
    return fail(Code::internal, "no such resource");
}

Result<std::string> CustomMetricsApi::bounded_body_of(const MetricsRequest& request) {
    if (++in_progress_ > kAtOnce) {
        --in_progress_;
        return fail(Code::unavailable, "too many requests at once; try again");
    }
    auto body = body_of(request);
    --in_progress_;
    return body;
}

RouteAnswer CustomMetricsApi::answer(std::string_view path, std::string_view query) {
    const auto request = read_metrics_request(path, query);
    auto body = request ? bounded_body_of(*request) : Result<std::string>(fail(request.error()));
    if (body) return {.body = *std::move(body)};
    return {.status = http_status(body.error().code), .body = write_failure(body.error())};
}

}  // namespace tessera
