// The registration of the custom metrics API with the API server (APIService), and how the API
// server authenticates itself when it passes a request on.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

inline constexpr std::string_view kMetricsGroup = "custom.metrics.k8s.io";
// The version that tessera-controller serves.
inline constexpr std::string_view kMetricsVersion = "v1beta2";
// A registration of any of these versions is one of the group.
inline constexpr std::string_view kMetricsVersions[] = {"v1beta2", "v1beta1"};

// A certificate of a client that may pass on requests: the API server's aggregation layer.
struct FrontProxy {
    std::string client_ca;           // PEM; empty: the API server has no aggregation layer
    std::vector<std::string> names;  // common names; none: any

    [[nodiscard]] bool allows(std::string_view name) const {
        return !client_ca.empty() &&
               (names.empty() || std::ranges::find(names, name) != names.end());
    }

    friend bool operator==(const FrontProxy&, const FrontProxy&) = default;
};

// An APIService of the group.
struct MetricsRegistration {
    std::string version;       // v1beta2
    std::string service;       // NAMESPACE/NAME of the Service; empty: the API server itself
    std::string certificates;  // PEM, that the API server trusts
    std::string revision;      // the resourceVersion

    friend bool operator==(const MetricsRegistration&, const MetricsRegistration&) = default;
};

}  // namespace tessera
