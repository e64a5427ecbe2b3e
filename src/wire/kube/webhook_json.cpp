#include "wire/kube/webhook_json.hpp"

#include <fmt/format.h>

#include "wire/text/base64.hpp"
#include "wire/text/json_patch.hpp"

namespace tessera {
namespace {

constexpr std::string_view kCertificates = "ca.crt";
constexpr std::string_view kKey = "ca.key";

}  // namespace

AuthoritySecret read_authority_secret(JsonValue secret) {
    const auto decoded = [data = secret["data"]](std::string_view key) {
        return decode_base64(data[key].text_or("")).value_or("");
    };
    return {.certificates = decoded(kCertificates),
            .key = decoded(kKey),
            .version = secret["metadata"]["resourceVersion"].text_or("")};
}

std::string write_authority_secret(const AuthoritySecretNames& names,
                                   const AuthoritySecret& secret) {
    JsonWriter w;
    w.object([&] {
        w.member("apiVersion", "v1");
        w.member("kind", "Secret");
        w.object("metadata", [&] {
            w.member("name", names.name);
            w.member("namespace", names.ns);
            if (!secret.version.empty()) w.member("resourceVersion", secret.version);
            if (secret.version.empty()) {
                w.object("labels", [&] {
                    w.member("app.kubernetes.io/name", "tessera");
                    w.member("app.kubernetes.io/component", names.component);
                });
            }
        });
        w.member("type", "Opaque");
        w.object("data", [&] {
            w.member(kCertificates, encode_base64(secret.certificates));
            w.member(kKey, encode_base64(secret.key));
        });
    });
    return w.take();
}

std::string write_trust_patch(JsonValue configuration, const std::string& certificates) {
    const std::string bundle = encode_base64(certificates);
    const auto webhooks = configuration["webhooks"].elements();
    JsonPatch patch;
    bool is_needed = false;
    patch.test("/metadata/resourceVersion",
               configuration["metadata"]["resourceVersion"].text_or(""));
    for (std::size_t i = 0; i < webhooks.size(); ++i) {
        if (webhooks[i]["clientConfig"]["caBundle"].text_or("") == bundle) continue;
        is_needed = true;
        patch.add(fmt::format("/webhooks/{}/clientConfig/caBundle", i), bundle);
    }
    return is_needed ? patch.take() : "";
}

std::string write_authority_config_map_patch(JsonValue config_map,
                                             const std::string& certificates) {
    if (config_map["data"]["ca.crt"].text_or("") == certificates) return {};
    JsonWriter w;
    w.object([&] {
        w.object("metadata", [&] {
            w.member("resourceVersion", config_map["metadata"]["resourceVersion"].text_or(""));
        });
        w.object("data", [&] { w.member("ca.crt", certificates); });
    });
    return w.take();
}

}  // namespace tessera
