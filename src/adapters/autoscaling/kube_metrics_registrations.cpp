#include "adapters/autoscaling/kube_metrics_registrations.hpp"

#include <fmt/format.h>

#include "adapters/kube/kube_call.hpp"
#include "wire/autoscaling/custom_metrics_json.hpp"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kDeadline{5'000};
// Two requests take less than MetricsRegistrar::kWriteTakes.
constexpr std::chrono::milliseconds kOfTwo{2'400};
constexpr std::string_view kApiServices = "/apis/apiregistration.k8s.io/v1/apiservices";
constexpr std::string_view kRole = "tessera-custom-metrics";

std::string path_of(const std::string& version) {
    return fmt::format("{}/{}.{}", kApiServices, version, kMetricsGroup);
}

Result<JsonDocument> get(HttpClient& http, const std::string& path,
                         std::chrono::milliseconds deadline = kDeadline) {
    TRY(const auto body, kube_call(http, {.method = "GET", .path = path}, deadline));
    return JsonDocument::parse(body);
}

}  // namespace

Result<FrontProxy> KubeMetricsRegistrations::front_proxy() {
    TRY(const auto document,
        get(http_, "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"));
    return read_front_proxy(document.root());
}

Result<std::optional<MetricsRegistration>> KubeMetricsRegistrations::read(
    const std::string& version) {
    const auto document = get(http_, path_of(version));
    if (!document && document.error().code == Code::not_found)
        return std::optional<MetricsRegistration>();
    if (!document) return fail(document.error());
    return std::optional(read_metrics_registration(document->root()));
}

Result<> KubeMetricsRegistrations::create(const MetricsRegistration& registration) {
    TRY(const auto role,
        get(http_, fmt::format("/apis/rbac.authorization.k8s.io/v1/clusterroles/{}", kRole),
            kOfTwo));
    TRY_VOID(kube_post(
        http_, std::string(kApiServices),
        write_metrics_registration(
            registration, {std::string(kRole), role.root()["metadata"]["uid"].text_or("")}),
        kOfTwo));
    return {};
}

Result<> KubeMetricsRegistrations::trust(const MetricsRegistration& read,
                                         const std::string& certificates) {
    TRY_VOID(kube_call(http_,
                       {.method = "PATCH",
                        .path = path_of(read.version),
                        .body = write_registration_trust(read, certificates),
                        .content_type = "application/json-patch+json"},
                       kDeadline));
    return {};
}

}  // namespace tessera
