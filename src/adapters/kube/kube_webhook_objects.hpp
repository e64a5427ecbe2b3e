// The WebhookObjects port over HTTP.
#pragma once

#include <string>

#include "adapters/http/http.hpp"
#include "ports/kube/webhook_objects.hpp"

namespace tessera {

struct WebhookNames {
    std::string ns;             // of the Secret
    std::string secret;         // a Secret
    std::string configuration;  // a MutatingWebhookConfiguration; empty: none
};

class KubeWebhookObjects final : public WebhookObjects {
  public:
    // `api`: the API server; outlives this.
    KubeWebhookObjects(HttpClient& api, WebhookNames names);

    Result<std::optional<AuthoritySecret>> read_authority() override;
    Result<> write_authority(const AuthoritySecret& secret) override;
    Result<> trust(const std::string& certificates) override;

  private:
    HttpClient& http_;
    const WebhookNames names_;
    const std::string secrets_;  // the path of the namespace's Secrets
};

}  // namespace tessera
