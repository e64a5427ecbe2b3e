#include "wire/autoscaling/custom_metrics_json.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <optional>
#include <vector>

#include "base/dns_name.hpp"
#include "wire/text/base64.hpp"
#include "wire/text/json_patch.hpp"
#include "wire/text/url_query.hpp"

namespace tessera {
namespace {

constexpr std::string_view kRoot = "/apis/custom.metrics.k8s.io";

std::string group_version() {
    return fmt::format("{}/{}", kMetricsGroup, kMetricsVersion);
}

// The first value of a parameter that is not empty; empty if there is none.
std::string parameter(std::string_view query, std::string_view name) {
    for (auto& [each, value] : query_parameters(query)) {
        if (each == name && !value.empty()) return std::move(value);
    }
    return {};
}

std::vector<std::string_view> parts_of(std::string_view path) {
    std::vector<std::string_view> out;
    while (!path.empty()) {
        const std::string_view part = path.substr(0, path.find('/'));
        out.push_back(part);
        path.remove_prefix(std::min(part.size() + 1, path.size()));
    }
    return out;
}

Error no_such(std::string_view path) {
    return {Code::not_found,
            fmt::format("there is no {} here; metrics of pods are at {}/{}/namespaces/"
                        "NAMESPACE/pods/*/METRIC",
                        is_utf8(path) ? path : "such path", kRoot, kMetricsVersion)};
}

std::string metric_names() {
    std::string out;
    for (const PodMetricRow& row : kPodMetrics)
        out += fmt::format("{}{}", out.empty() ? "" : ", ", row.name);
    return out;
}

// "61.5" as the API server writes quantities.
std::string quantity(std::int64_t milli) {
    return milli % 1'000 == 0 ? fmt::format("{}", milli / 1'000) : fmt::format("{}m", milli);
}

std::string_view reason_of(Code code) {
    switch (code) {
        case Code::not_found:
            return "NotFound";
        case Code::invalid_argument:
            return "BadRequest";
        case Code::permission_denied:
            return "Forbidden";
        default:
            return "ServiceUnavailable";
    }
}

std::string ca_of(JsonValue api_service) {
    return decode_base64(api_service["spec"]["caBundle"].text_or("")).value_or("");
}

}  // namespace

Result<MetricsRequest> read_metrics_request(std::string_view path, std::string_view query) {
    if (!path.starts_with(kRoot)) return fail(no_such(path));
    std::string_view rest = path.substr(kRoot.size());
    if (rest.empty()) return MetricsRequest{.resource = MetricsResource::group};
    if (!rest.starts_with('/')) return fail(no_such(path));
    rest.remove_prefix(1);
    const auto parts = parts_of(rest);
    if (parts.empty() || parts[0] != kMetricsVersion) return fail(no_such(path));
    if (parts.size() == 1) return MetricsRequest{.resource = MetricsResource::version};
    const bool is_of_pods = parts.size() == 6 && parts[1] == "namespaces" && parts[3] == "pods" &&
                            is_dns_label(parts[2]) && (parts[4] == "*" || is_dns_name(parts[4]));
    if (!is_of_pods) return fail(no_such(path));
    const auto metric = find_pod_metric(parts[5]);
    if (!metric) {
        return fail(Code::not_found,
                    fmt::format("there is no such metric of pods; there are: {}", metric_names()));
    }
    if (!parameter(query, "metricLabelSelector").empty()) {
        return fail(Code::invalid_argument,
                    "metricLabelSelector: Tessera's metrics have no labels; remove the selector of "
                    "the metric");
    }
    MetricsRequest out{.resource = MetricsResource::values, .metric = *metric};
    out.ns = parts[2];
    if (parts[4] != "*") out.pod = parts[4];
    out.label_selector = parameter(query, "labelSelector");
    return out;
}

std::string write_metrics_group() {
    JsonWriter w;
    const auto version = [&] {
        w.member("groupVersion", group_version());
        w.member("version", kMetricsVersion);
    };
    w.object([&] {
        w.member("kind", "APIGroup");
        w.member("apiVersion", "v1");
        w.member("name", kMetricsGroup);
        w.array("versions", [&] { w.object(version); });
        w.object("preferredVersion", version);
    });
    return w.take();
}

std::string write_metrics_resources() {
    JsonWriter w;
    w.object([&] {
        w.member("kind", "APIResourceList");
        w.member("apiVersion", "v1");
        w.member("groupVersion", group_version());
        w.array("resources", [&] {
            for (const PodMetricRow& row : kPodMetrics) {
                w.object([&] {
                    w.member("name", fmt::format("pods/{}", row.name));
                    w.member("singularName", "");
                    w.member("namespaced", true);
                    w.member("kind", "MetricValueList");
                    w.array("verbs", [&] { w.item("get"); });
                });
            }
        });
    });
    return w.take();
}

std::string write_metric_values(std::string_view ns, PodMetric metric,
                                std::span<const NamedMetricValue> values) {
    JsonWriter w;
    w.object([&] {
        w.member("kind", "MetricValueList");
        w.member("apiVersion", group_version());
        w.object("metadata", [] {});
        w.array("items", [&] {
            for (const NamedMetricValue& each : values) {
                w.object([&] {
                    w.object("describedObject", [&] {
                        w.member("kind", "Pod");
                        w.member("namespace", ns);
                        w.member("name", each.pod);
                        w.member("apiVersion", "/v1");
                    });
                    w.object("metric", [&] { w.member("name", row_of(metric).name); });
                    w.member("timestamp",
                             fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                                         fmt::gmtime(static_cast<std::time_t>(each.value.unix_s))));
                    w.member("windowSeconds", each.value.window_s);
                    w.member("value", quantity(each.value.milli));
                });
            }
        });
    });
    return w.take();
}

std::string write_failure(const Error& error) {
    JsonWriter w;
    w.object([&] {
        w.member("kind", "Status");
        w.member("apiVersion", "v1");
        w.object("metadata", [] {});
        w.member("status", "Failure");
        w.member("message", error.text);
        w.member("reason", reason_of(error.code));
        w.member("code", http_status(error.code));
    });
    return w.take();
}

FrontProxy read_front_proxy(JsonValue config_map) {
    const JsonValue data = config_map["data"];
    FrontProxy out{.client_ca = data["requestheader-client-ca-file"].text_or(""), .names = {}};
    const auto names = JsonDocument::parse(data["requestheader-allowed-names"].text_or("[]"));
    if (!names || !names->root().is_array()) {
        out.client_ca.clear();
        return out;
    }
    for (const JsonValue name : names->root().elements())
        out.names.push_back(name.text_or(""));
    return out;
}

MetricsRegistration read_metrics_registration(JsonValue api_service) {
    const JsonValue service = api_service["spec"]["service"];
    MetricsRegistration out{.version = api_service["spec"]["version"].text_or(""),
                            .service = {},
                            .certificates = ca_of(api_service),
                            .revision = api_service["metadata"]["resourceVersion"].text_or("")};
    if (service.present()) {
        out.service =
            fmt::format("{}/{}", service["namespace"].text_or(""), service["name"].text_or(""));
    }
    return out;
}

std::string write_metrics_registration(const MetricsRegistration& wanted,
                                       const RegistrationOwner& owner) {
    const std::size_t slash = wanted.service.find('/');
    JsonWriter w;
    w.object([&] {
        w.member("apiVersion", "apiregistration.k8s.io/v1");
        w.member("kind", "APIService");
        w.object("metadata", [&] {
            w.member("name", fmt::format("{}.{}", wanted.version, kMetricsGroup));
            w.object("labels", [&] {
                w.member("app.kubernetes.io/name", "tessera");
                w.member("app.kubernetes.io/component", "controller");
            });
            w.array("ownerReferences", [&] {
                w.object([&] {
                    w.member("apiVersion", "rbac.authorization.k8s.io/v1");
                    w.member("kind", "ClusterRole");
                    w.member("name", owner.role);
                    w.member("uid", owner.uid);
                });
            });
        });
        w.object("spec", [&] {
            w.member("group", kMetricsGroup);
            w.member("version", wanted.version);
            // The lowest: another adapter's versions come first in the discovery.
            w.member("groupPriorityMinimum", 1);
            w.member("versionPriority", 1);
            w.object("service", [&] {
                w.member("namespace", wanted.service.substr(0, slash));
                w.member("name", wanted.service.substr(slash + 1));
                w.member("port", 443);
            });
            w.member("caBundle", encode_base64(wanted.certificates));
        });
    });
    return w.take();
}

std::string write_registration_trust(const MetricsRegistration& read,
                                     const std::string& certificates) {
    JsonPatch patch;
    patch.test("/metadata/resourceVersion", read.revision);
    patch.add("/spec/caBundle", encode_base64(certificates));
    return patch.take();
}

}  // namespace tessera
