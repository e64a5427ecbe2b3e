// The AuthorityObjects port over HTTP.
#pragma once

#include <string>

#include "adapters/http/http.hpp"
#include "ports/kube/authority_objects.hpp"

namespace tessera {

struct AuthorityNames {
    std::string ns;             // of the Secret
    std::string secret;         // a Secret
    std::string component;      // the value of its label, if it has to be created
    std::string configuration;  // a MutatingWebhookConfiguration; empty: none
    std::string config_map;     // in `ns`, whose key ca.crt clients read; empty: none
};

class KubeAuthorityObjects final : public AuthorityObjects {
  public:
    // `api`: the API server; outlives this.
    KubeAuthorityObjects(HttpClient& api, AuthorityNames names);

    Result<std::optional<AuthoritySecret>> read_authority() override;
    Result<> write_authority(const AuthoritySecret& secret) override;
    Result<> trust(const std::string& certificates) override;

  private:
    Result<> trust_in_webhooks(const std::string& certificates);
    Result<> trust_in_config_map(const std::string& certificates);

    HttpClient& http_;
    const AuthorityNames names_;
    const std::string secrets_;  // the path of the namespace's Secrets
};

}  // namespace tessera
