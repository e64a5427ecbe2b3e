// The Secret of the certificate authority of a Service, and what makes clients trust it: the part
// of a MutatingWebhookConfiguration (admissionregistration.k8s.io/v1) with the certificates that
// the API server trusts, or a ConfigMap.
#pragma once

#include <string>
#include <string_view>

#include "domain/admission/authority_secret.hpp"
#include "wire/text/json.hpp"

namespace tessera {

// A value that is no base64 reads as an empty text.
AuthoritySecret read_authority_secret(JsonValue secret);
struct AuthoritySecretNames {
    std::string_view name;
    std::string_view ns;
    std::string_view component;  // the value of the label app.kubernetes.io/component of a new one
};
std::string write_authority_secret(const AuthoritySecretNames& names,
                                   const AuthoritySecret& secret);

// The JSON Patch that makes all webhooks of the configuration trust these certificates (PEM); empty
// if they do already. The API server refuses it if the configuration has changed meanwhile.
std::string write_trust_patch(JsonValue configuration, const std::string& certificates);

// The merge patch that gives the ConfigMap these certificates (PEM) as ca.crt; empty if it has
// them. The API server refuses it if the ConfigMap has changed meanwhile.
std::string write_authority_config_map_patch(JsonValue config_map, const std::string& certificates);

}  // namespace tessera
