#include "adapters/kube/kube_authority_objects.hpp"

#include <utility>

#include "adapters/kube/kube_call.hpp"
#include "wire/kube/webhook_json.hpp"

namespace tessera {
namespace {

constexpr std::chrono::seconds kDeadline{5};
constexpr std::string_view kConfigurations =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/";

}  // namespace

KubeAuthorityObjects::KubeAuthorityObjects(HttpClient& api, AuthorityNames names)
    : http_(api),
      names_(std::move(names)),
      secrets_("/api/v1/namespaces/" + names_.ns + "/secrets") {}

Result<std::optional<AuthoritySecret>> KubeAuthorityObjects::read_authority() {
    const auto body =
        kube_call(http_, {.method = "GET", .path = secrets_ + "/" + names_.secret}, kDeadline);
    if (!body && body.error().code == Code::not_found) return std::optional<AuthoritySecret>();
    if (!body) return fail(body.error());
    TRY(const auto document, JsonDocument::parse(*body));
    return read_authority_secret(document.root());
}

// A patch keeps the labels and annotations of other programs, such as Helm.
Result<> KubeAuthorityObjects::write_authority(const AuthoritySecret& secret) {
    const bool is_new = secret.version.empty();
    TRY_VOID(kube_call(
        http_,
        {.method = is_new ? "POST" : "PATCH",
         .path = is_new ? secrets_ : secrets_ + "/" + names_.secret,
         .body = write_authority_secret(
             {.name = names_.secret, .ns = names_.ns, .component = names_.component}, secret),
         .content_type = is_new ? "application/json" : "application/merge-patch+json"},
        kDeadline));
    return {};
}

Result<> KubeAuthorityObjects::trust(const std::string& certificates) {
    if (!names_.configuration.empty()) TRY_VOID(trust_in_webhooks(certificates));
    if (!names_.config_map.empty()) TRY_VOID(trust_in_config_map(certificates));
    return {};
}

Result<> KubeAuthorityObjects::trust_in_config_map(const std::string& certificates) {
    const std::string path = "/api/v1/namespaces/" + names_.ns + "/configmaps/" + names_.config_map;
    TRY(const auto body, kube_call(http_, {.method = "GET", .path = path}, kDeadline));
    TRY(const auto document, JsonDocument::parse(body));
    const std::string patch = write_authority_config_map_patch(document.root(), certificates);
    if (patch.empty()) return {};
    TRY_VOID(kube_call(http_,
                       {.method = "PATCH",
                        .path = path,
                        .body = patch,
                        .content_type = "application/merge-patch+json"},
                       kDeadline));
    return {};
}

Result<> KubeAuthorityObjects::trust_in_webhooks(const std::string& certificates) {
    const std::string path = std::string(kConfigurations) + names_.configuration;
    TRY(const auto body, kube_call(http_, {.method = "GET", .path = path}, kDeadline));
    TRY(const auto document, JsonDocument::parse(body));
    const std::string patch = write_trust_patch(document.root(), certificates);
    if (patch.empty()) return {};
    TRY_VOID(kube_call(http_,
                       {.method = "PATCH",
                        .path = path,
                        .body = patch,
                        .content_type = "application/json-patch+json"},
                       kDeadline));
    return {};
}

}  // namespace tessera
