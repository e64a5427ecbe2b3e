#include "adapters/kube/kube_lease_store.hpp"

#include <gtest/gtest.h>

#include "adapters/kube/scripted_server_test.hpp"

namespace tessera {
namespace {

constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/s/leases";

// Goal: a missing Lease is created by POST, an existing one is patched in its version.
// The result is what the server stores.
TEST(KubeLeaseStore, MakesAndReplaces) {
    ScriptedServer server;
    const std::string path = std::string(kLeases) + "/n";
    server.answer("GET " + path, 404, R"({"message":"not found"})");
    server.answer(std::string("POST ") + kLeases, 201,
                  R"({"metadata":{"resourceVersion":"5"},"spec":{"holderIdentity":"a"}})");
    server.answer("PATCH " + path, 200,
                  R"({"metadata":{"resourceVersion":"6"},"spec":{"holderIdentity":"a"}})");
    KubeLeaseStore store(server.client(), "s", "n");
    const auto none = store.read();
    ASSERT_TRUE(none);
    EXPECT_FALSE(*none);
    const auto made = store.write({.holder = "a", .version = ""});
    ASSERT_TRUE(made) << made.error().text;
    EXPECT_EQ(made->version, "5");
    const auto renewed = store.write(*made);
    ASSERT_TRUE(renewed);
    EXPECT_EQ(renewed->version, "6");
    EXPECT_NE(server.requests().back().body.find(R"("resourceVersion":"5")"), std::string::npos);
}

// Goal: a controller that was slower gets a conflict; a failing server is no reason to take over.
TEST(KubeLeaseStore, Refusals) {
    ScriptedServer server;
    const std::string path = std::string(kLeases) + "/n";
    server.answer("PATCH " + path, 409, R"({"message":"changed"})");
    server.answer("GET " + path, 503, R"({"message":"away"})");
    KubeLeaseStore store(server.client(), "s", "n");
    EXPECT_EQ(store.write({.version = "4"}).error().code, Code::conflict);
    EXPECT_EQ(store.read().error().code, Code::unavailable);
}

}  // namespace
}  // namespace tessera
