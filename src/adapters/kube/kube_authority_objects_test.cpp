#include "adapters/kube/kube_authority_objects.hpp"

#include <gtest/gtest.h>

#include "adapters/kube/scripted_server_test.hpp"

namespace tessera {
namespace {

constexpr const char* kSecrets = "/api/v1/namespaces/s/secrets";
constexpr const char* kConfiguration =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/c";

class KubeAuthorityObjectsTest : public ::testing::Test {
  protected:
    ScriptedServer server_;
    KubeAuthorityObjects objects_{server_.client(), {"s", "ca", "controller", "c", ""}};
};

// Goal: a missing Secret is created by POST, an existing one is patched in its version. A
// replica that was slower gets a conflict.
TEST_F(KubeAuthorityObjectsTest, Authority) {
    const std::string path = std::string(kSecrets) + "/ca";
    server_.answer("GET " + path, 404, R"({"message":"not found"})");
    server_.answer("GET " + path, 200, R"({"metadata":{"resourceVersion":"5"}})");
    server_.answer(std::string("POST ") + kSecrets, 201, "{}");
    server_.answer("PATCH " + path, 409, R"({"message":"changed"})");
    const auto none = objects_.read_authority();
    ASSERT_TRUE(none);
    EXPECT_FALSE(*none);
    EXPECT_TRUE(objects_.write_authority({"C", "K", ""}));
    const auto found = objects_.read_authority();
    ASSERT_TRUE(found);
    ASSERT_TRUE(*found);
    EXPECT_EQ((*found)->version, "5");
    EXPECT_EQ(objects_.write_authority(**found).error().code, Code::conflict);
    EXPECT_NE(server_.requests().back().body.find(R"("resourceVersion":"5")"), std::string::npos);
}

// Goal: the configuration is written only if it does not trust the certificates yet.
TEST_F(KubeAuthorityObjectsTest, Trust) {
    server_.answer(std::string("GET ") + kConfiguration, 200,
                   R"({"webhooks":[{"clientConfig":{}}]})");
    server_.answer(std::string("GET ") + kConfiguration, 200,
                   R"({"webhooks":[{"clientConfig":{"caBundle":"Qw=="}}]})");
    server_.answer(std::string("PATCH ") + kConfiguration, 200, "{}");
    EXPECT_TRUE(objects_.trust("C"));
    EXPECT_EQ(server_.requests().back().method, "PATCH");
    EXPECT_NE(server_.requests().back().body.find("Qw=="), std::string::npos);
    EXPECT_TRUE(objects_.trust("C"));
    EXPECT_EQ(server_.requests().back().method, "GET");
}

// Goal: a program without webhooks publishes the certificates in its ConfigMap, once.
TEST_F(KubeAuthorityObjectsTest, TrustInConfigMap) {
    constexpr const char* kPath = "/api/v1/namespaces/s/configmaps/m";
    KubeAuthorityObjects objects(
        server_.client(),
        {.ns = "s", .secret = "ca", .component = "ledger", .configuration = "", .config_map = "m"});
    server_.answer(std::string("GET ") + kPath, 200, R"({"metadata":{"resourceVersion":"5"}})");
    server_.answer(std::string("GET ") + kPath, 200, R"({"data":{"ca.crt":"C"}})");
    server_.answer(std::string("GET ") + kPath, 404, R"({"message":"not found"})");
    server_.answer(std::string("PATCH ") + kPath, 200, "{}");
    EXPECT_TRUE(objects.trust("C"));
    EXPECT_EQ(server_.requests().back().method, "PATCH");
    EXPECT_TRUE(objects.trust("C"));
    EXPECT_EQ(server_.requests().back().method, "GET");
    EXPECT_EQ(objects.trust("C").error().code, Code::not_found);
}

// Goal: without a configuration the error says so.
TEST_F(KubeAuthorityObjectsTest, NoConfiguration) {
    server_.answer(std::string("GET ") + kConfiguration, 404, R"({"message":"not found"})");
    EXPECT_EQ(objects_.trust("C").error().code, Code::not_found);
}

}  // namespace
}  // namespace tessera
