#include "wire/kube/exec_credential_json.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

constexpr std::string_view kV1 = "client.authentication.k8s.io/v1";

std::string credential(const std::string& status) {
    return R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":)" +
           status + "}";
}

// Goal: a token, a certificate, or both, with the time when they expire. Method: what
// `aws eks get-token` prints, and the other forms of the documentation.
TEST(ExecCredential, ReadsWhatPluginsPrint) {
    const auto eks = read_exec_credential(
        R"({"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1beta1",
            "spec": {}, "status": {"expirationTimestamp": "2026-11-26T15:14:03Z",
            "token": "k8s-aws-v1.aHR0cHM6"}})",
        "client.authentication.k8s.io/v1beta1");
    ASSERT_TRUE(eks) << eks.error().text;
    EXPECT_EQ(eks->token, "k8s-aws-v1.aHR0cHM6");
    EXPECT_EQ(eks->expires_s, 1'795'706'043);
    EXPECT_TRUE(eks->client_cert_pem.empty());

    const auto certificate = read_exec_credential(
        credential(R"({"clientCertificateData":"CERT","clientKeyData":"KEY"})"), kV1);
    ASSERT_TRUE(certificate) << certificate.error().text;
    EXPECT_EQ(certificate->client_cert_pem, "CERT");
    EXPECT_EQ(certificate->client_key_pem, "KEY");
    EXPECT_FALSE(certificate->expires_s);
}

// Goal: everything else is refused with the name of the field.
TEST(ExecCredential, RefusesOtherText) {
    struct Case {
        std::string text;
        std::string part;
    };
    const std::vector<Case> cases = {
        {"", "not JSON"},
        {"Please log in", "not JSON"},
        {"[]", "kind: "},
        {R"({"kind":"Status"})", "kind: \"Status\" is not ExecCredential"},
        {R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1alpha1"})",
         "apiVersion: \"client.authentication.k8s.io/v1alpha1\" is not "
         "client.authentication.k8s.io/v1"},
        {credential("{}"), "status: has neither a token nor a client certificate"},
        {credential(R"({"token":7})"), "status: has neither"},
        {credential(R"({"token":"a\nb"})"), "status.token: "},
        {credential(R"({"clientCertificateData":"C"})"), "belong together"},
        {credential(R"({"token":"t","expirationTimestamp":"tomorrow"})"),
         "status.expirationTimestamp: \"tomorrow\""},
        {credential(R"({"token":"t","expirationTimestamp":5})"), "status.expirationTimestamp: "},
    };
    for (const Case& c : cases) {
        const auto read = read_exec_credential(c.text, kV1);
        ASSERT_FALSE(read) << c.text;
        EXPECT_EQ(read.error().code, Code::invalid_argument);
        EXPECT_NE(read.error().text.find(c.part), std::string::npos) << read.error().text;
    }
}

TEST(ExecInfo, SaysWhatThePluginIsFor) {
    EXPECT_EQ(write_exec_info(kV1, false, {}),
              R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",)"
              R"("spec":{"interactive":false}})");
    const ExecCluster cluster{.server = "https://a",
                              .tls_server_name = "b",
                              .insecure_skip_tls_verify = true,
                              .ca_base64 = "Q0E=",
                              .proxy_url = "http://p",
                              .config_json = R"({"audience":"x"})"};
    EXPECT_EQ(write_exec_info(kV1, true, cluster),
              R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",)"
              R"("spec":{"interactive":true,"cluster":{"server":"https://a",)"
              R"("tls-server-name":"b","insecure-skip-tls-verify":true,)"
              R"("certificate-authority-data":"Q0E=","proxy-url":"http://p",)"
              R"("config":{"audience":"x"}}}})");
}

}  // namespace
}  // namespace tessera
