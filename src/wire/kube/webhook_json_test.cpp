#include "wire/kube/webhook_json.hpp"

#include <gtest/gtest.h>

#include "wire/text/base64.hpp"

namespace tessera {
namespace {

JsonDocument parse(const std::string& text) {
    auto document = JsonDocument::parse(text);
    EXPECT_TRUE(document) << text;
    return *std::move(document);
}

// Goal: a Secret is read as it was written. Only one that replaces another names its version.
TEST(WebhookJson, SecretRoundTrip) {
    for (const char* version : {"", "17"}) {
        const AuthoritySecret secret{"CERT\nCERT\n", "KEY\n", version};
        const auto written = parse(
            write_authority_secret({.name = "ca", .ns = "ns", .component = "ledger"}, secret));
        EXPECT_EQ(read_authority_secret(written.root()), secret);
        EXPECT_EQ(written.root()["metadata"]["name"].text_or(""), "ca");
        EXPECT_EQ(written.root()["metadata"]["namespace"].text_or(""), "ns");
        EXPECT_EQ(written.root()["metadata"]["resourceVersion"].present(), *version != '\0');
    }
}

// Goal: whatever a user put into the Secret, reading it fails nowhere.
TEST(WebhookJson, OddSecrets) {
    for (const char* text : {"{}", R"({"data":null})", R"({"data":{"ca.crt":1,"ca.key":"?"}})"}) {
        EXPECT_EQ(read_authority_secret(parse(text).root()), AuthoritySecret{}) << text;
    }
}

// Goal: the patch changes the webhooks that do not trust the certificates, and only them, and only
// in the version that was read.
TEST(WebhookJson, TrustPatch) {
    const std::string bundle = encode_base64("CERT");
    const auto patch = [&](const std::string& webhooks) {
        return write_trust_patch(
            parse(R"({"metadata":{"resourceVersion":"5"},"webhooks":)" + webhooks + "}").root(),
            "CERT");
    };
    const std::string good = R"({"clientConfig":{"caBundle":")" + bundle + R"("}})";
    const std::string old = R"({"clientConfig":{"caBundle":"T0xE"}})";
    EXPECT_EQ(patch("[]"), "");
    EXPECT_EQ(patch("[" + good + "]"), "");
    EXPECT_EQ(patch("[" + good + "," + old + R"(,{"clientConfig":{}}])"),
              R"([{"op":"test","path":"/metadata/resourceVersion","value":"5"},)"
              R"({"op":"add","path":"/webhooks/1/clientConfig/caBundle","value":")" +
                  bundle +
                  R"("},{"op":"add","path":"/webhooks/2/clientConfig/caBundle","value":")" +
                  bundle + R"("}])");
}

// Goal: the ConfigMap is written in the version that was read, and only if its text differs.
TEST(WebhookJson, AuthorityConfigMapPatch) {
    const auto patch = [](const std::string& more) {
        return write_authority_config_map_patch(
            parse(R"({"metadata":{"resourceVersion":"5"})" + more + "}").root(), "CERT");
    };
    const std::string expected = R"({"metadata":{"resourceVersion":"5"},"data":{"ca.crt":"CERT"}})";
    EXPECT_EQ(patch(""), expected);
    EXPECT_EQ(patch(R"(,"data":{"ca.crt":"OLD","more":"x"})"), expected);
    EXPECT_EQ(patch(R"(,"data":{"ca.crt":7})"), expected);
    EXPECT_EQ(patch(R"(,"data":{"ca.crt":"CERT"})"), "");
}

}  // namespace
}  // namespace tessera
