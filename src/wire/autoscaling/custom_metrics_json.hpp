// The custom metrics API (custom.metrics.k8s.io/v1beta2) for metrics of pods: requests, and the
// objects that answer them. Source: the types of k8s.io/metrics, release 1.36.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "domain/autoscaling/metrics_api.hpp"
#include "domain/autoscaling/pod_metric.hpp"
#include "wire/text/json.hpp"

namespace tessera {

enum class MetricsResource {
    group,    // /apis/custom.metrics.k8s.io
    version,  // /apis/custom.metrics.k8s.io/v1beta2
    values,   // below it: namespaces/NAMESPACE/pods/POD/METRIC
};

struct MetricsRequest {
    MetricsResource resource = MetricsResource::group;
    std::string ns{};
    std::string pod{};  // empty: all that the selector selects
    PodMetric metric = PodMetric::compute_use;
    std::string label_selector{};  // of pods; empty: all of the namespace

    friend bool operator==(const MetricsRequest&, const MetricsRequest&) = default;
};

// `path`: decoded, without the query. `query`: as it was sent. not_found if there is no such
// resource or metric; invalid_argument for a selector of metrics, which have no labels here.
Result<MetricsRequest> read_metrics_request(std::string_view path, std::string_view query);

// meta/v1 APIGroup and APIResourceList.
std::string write_metrics_group();
std::string write_metrics_resources();

struct NamedMetricValue {
    std::string pod;
    PodMetricValue value;
};
// A MetricValueList of pods of one namespace.
std::string write_metric_values(std::string_view ns, PodMetric metric,
                                std::span<const NamedMetricValue> values);
// meta/v1 Status of a request that failed, with the HTTP status of the error's code.
std::string write_failure(const Error& error);

// The ConfigMap kube-system/extension-apiserver-authentication. Text that is no list of names
// allows none.
FrontProxy read_front_proxy(JsonValue config_map);

// An APIService (apiregistration.k8s.io/v1).
MetricsRegistration read_metrics_registration(JsonValue api_service);
struct RegistrationOwner {
    std::string role;  // the ClusterRole with which the registration is deleted
    std::string uid;
};
// `wanted`: the version, the Service and the certificates.
std::string write_metrics_registration(const MetricsRegistration& wanted,
                                       const RegistrationOwner& owner);
// A JSON patch that makes the API server trust `certificates`. The API server refuses it if the
// registration was changed since it was read.
std::string write_registration_trust(const MetricsRegistration& read,
                                     const std::string& certificates);

}  // namespace tessera
