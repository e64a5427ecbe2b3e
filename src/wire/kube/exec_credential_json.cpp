#include "wire/kube/exec_credential_json.hpp"

#include <fmt/format.h>

#include "wire/text/json.hpp"
#include "wire/text/utc_time.hpp"

namespace tessera {
namespace {

tl::unexpected<Error> bad(std::string text) {
    return fail(Code::invalid_argument, std::move(text));
}

Result<> check_kind(JsonValue root, std::string_view api_version) {
    if (root["kind"].text_or("") != "ExecCredential") {
        return bad(fmt::format("kind: \"{}\" is not ExecCredential", root["kind"].text_or("")));
    }
    const std::string version = root["apiVersion"].text_or("");
    if (version == api_version) return {};
    return bad(fmt::format("apiVersion: \"{}\" is not {}, as the kubeconfig has it", version,
                           api_version));
}

}  // namespace

Result<ExecCredential> read_exec_credential(std::string_view text, std::string_view api_version) {
    TRY(const JsonDocument document, JsonDocument::parse(text));
    TRY_VOID(check_kind(document.root(), api_version));
    const JsonValue status = document.root()["status"];
    ExecCredential out{.token = status["token"].text_or(""),
                       .client_cert_pem = status["clientCertificateData"].text_or(""),
                       .client_key_pem = status["clientKeyData"].text_or(""),
                       .expires_s = {}};
    if (out.client_cert_pem.empty() != out.client_key_pem.empty()) {
        return bad(
            "status: clientCertificateData and clientKeyData belong together; one is missing");
    }
    if (out.token.empty() && out.client_cert_pem.empty()) {
        return bad("status: has neither a token nor a client certificate");
    }
    // An HTTP header cannot have a line feed.
    if (out.token.find_first_of("\r\n") != std::string::npos) {
        return bad("status.token: has a line feed");
    }
    const JsonValue expires = status["expirationTimestamp"];
    if (expires.present()) {
        out.expires_s = rfc3339_seconds(expires.text_or(""));
        if (!out.expires_s) {
            return bad(fmt::format("status.expirationTimestamp: \"{}\" is not a time of RFC 3339",
                                   expires.text_or("")));
        }
    }
    return out;
}

std::string write_exec_info(std::string_view api_version, bool interactive,
                            const std::optional<ExecCluster>& cluster) {
    JsonWriter w;
    w.object([&] {
        w.member("apiVersion", api_version);
        w.member("kind", "ExecCredential");
        w.object("spec", [&] {
            w.member("interactive", interactive);
            if (!cluster) return;
            w.object("cluster", [&] {
                w.member("server", cluster->server);
                if (!cluster->tls_server_name.empty())
                    w.member("tls-server-name", cluster->tls_server_name);
                if (cluster->insecure_skip_tls_verify) w.member("insecure-skip-tls-verify", true);
                if (!cluster->ca_base64.empty())
                    w.member("certificate-authority-data", cluster->ca_base64);
                if (!cluster->proxy_url.empty()) w.member("proxy-url", cluster->proxy_url);
                if (!cluster->config_json.empty()) w.raw_member("config", cluster->config_json);
            });
        });
    });
    return w.take();
}

}  // namespace tessera
