// The messages between a Kubernetes client and its authentication plugin, which prints an
// ExecCredential: client.authentication.k8s.io, versions v1 and v1beta1, as client-go has them
// (kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tessera {

struct ExecCredential {
    std::string token;            // or a certificate, or both
    std::string client_cert_pem;  // both or none
    std::string client_key_pem;
    std::optional<std::int64_t> expires_s;  // since 1970; nothing: valid as long as the process
};

// What a plugin printed. `api_version` is that of the kubeconfig; a plugin must answer with it.
// Errors: invalid_argument, with the field.
Result<ExecCredential> read_exec_credential(std::string_view text, std::string_view api_version);

// The cluster that a plugin is asked for credentials of (provideClusterInfo of the kubeconfig).
struct ExecCluster {
    std::string server;
    std::string tls_server_name;
    bool insecure_skip_tls_verify = false;
    std::string ca_base64;  // of the PEM text
    std::string proxy_url;
    std::string config_json;  // the plugin's own settings; empty: none
};

// The value of KUBERNETES_EXEC_INFO. `interactive`: the plugin may ask the user on standard input.
std::string write_exec_info(std::string_view api_version, bool interactive,
                            const std::optional<ExecCluster>& cluster);

}  // namespace tessera
