#include "adapters/kube/kube_migration.hpp"

#include <gtest/gtest.h>

#include "adapters/kube/scripted_server_test.hpp"

namespace tessera {
namespace {

std::string list(const std::string& items) {
    return R"({"metadata":{"resourceVersion":"1"},"items":[)" + items + "]}";
}

constexpr const char* kAgents =
    R"({"metadata":{"namespace":"t","name":"tessera-agent"},"spec":{"template":{"spec":{
        "nodeSelector":{"tessera.dev/agent":"true"},
        "containers":[{"args":["--memory-unit=MiB"]}]}}}})";
constexpr const char* kNode =
    R"({"metadata":{"name":"n","resourceVersion":"7","labels":{"tessera.dev/agent":"true"}}})";
constexpr const char* kTrain =
    R"({"metadata":{"namespace":"d","name":"train"},"spec":{"nodeName":"n"}})";
constexpr const char* kEnded =
    R"({"metadata":{"namespace":"d","name":"old"},"spec":{"nodeName":"n"},
        "status":{"phase":"Succeeded"}})";
constexpr const char* kWaiting =
    R"({"metadata":{"namespace":"d","name":"w"},"spec":{"containers":[{"name":"main",
        "resources":{"limits":{"aliyun.com/gpu-mem":"3"}}}]}})";
constexpr const char* kController =
    R"({"metadata":{"namespace":"t","name":"c","labels":{"app.kubernetes.io/name":"tessera",
        "app.kubernetes.io/component":"controller"}},"spec":{"nodeName":"n"},
        "status":{"conditions":[{"type":"Ready","status":"True"}]}})";

TEST(KubeMigration, ReadsTheCluster) {
    ScriptedServer server;
    server.answer("GET /apis/apps/v1/namespaces/t/daemonsets/tessera-agent", 200, kAgents);
    server.answer("GET /api/v1/nodes", 200, list(kNode));
    server.answer("GET /apis/apps/v1/daemonsets", 200, list(kAgents));
    server.answer("GET /api/v1/pods", 200,
                  list(std::string(kTrain) + "," + kEnded + "," + kWaiting + "," + kController));
    const auto facts = KubeMigration(server.client(), "t").read();
    ASSERT_TRUE(facts) << facts.error().text;
    EXPECT_EQ(facts->agents->unit, MemoryUnit::mib);
    EXPECT_TRUE(facts->old_plugins.empty());
    EXPECT_FALSE(facts->has_webhook) << "it does not exist";
    EXPECT_FALSE(facts->has_own_scheduler);
    EXPECT_EQ(facts->ready_controllers, 1);
    ASSERT_EQ(facts->nodes.size(), 1);
    EXPECT_TRUE(facts->nodes.front().is_agent_wanted);
    EXPECT_EQ(facts->nodes.front().pods.size(), 2) << "without the one that has ended";
    ASSERT_EQ(facts->waiting.size(), 1);
    EXPECT_EQ(facts->waiting.front().info.name.str(), "d/w");
}

TEST(KubeMigration, ReadsANode) {
    ScriptedServer server;
    server.answer("GET /api/v1/nodes/n", 200, kNode);
    server.answer("GET /api/v1/pods", 200, list(std::string(kTrain) + "," + kEnded));
    KubeMigration cluster(server.client(), "t");
    const auto node = cluster.read_node(NodeName("n"));
    ASSERT_TRUE(node) << node.error().text;
    EXPECT_EQ(node->version, "7");
    EXPECT_FALSE(node->is_agent_wanted) << "Tessera is not installed";
    EXPECT_EQ(node->pods.size(), 1);
    EXPECT_EQ(cluster.read_node(NodeName("x")).error().code, Code::not_found);
}

// Goal: a write is refused if the Node has changed.
TEST(KubeMigration, Writes) {
    ScriptedServer server;
    server.answer("PATCH /api/v1/nodes/n", 200, "{}");
    server.answer("PATCH /api/v1/nodes/n", 409, R"({"message":"the object has been modified"})");
    KubeMigration cluster(server.client(), "t");
    migration::Node node;
    node.inventory.name = NodeName("n");
    node.version = "7";
    const migration::NodeChange change{.what = "x", .labels = {{"gpushare", ""}}};
    EXPECT_TRUE(cluster.write(node, change));
    EXPECT_EQ(server.requests().front().body,
              R"({"metadata":{"resourceVersion":"7","labels":{"gpushare":null}}})");
    EXPECT_EQ(cluster.write(node, change).error().code, Code::conflict);
}

TEST(KubeMigration, RemovesAReport) {
    ScriptedServer server;
    server.answer("PATCH /api/v1/nodes/n", 200, "{}");
    KubeMigration cluster(server.client(), "t");
    migration::Node node;
    node.inventory.name = NodeName("n");
    node.published = {.name = NodeName("n"), .annotations = {"tessera.dev/gpus"}};
    EXPECT_TRUE(cluster.write(node, {.what = "x", .removes_report = true}));
    EXPECT_EQ(server.requests().front().body,
              R"({"metadata":{"annotations":{"tessera.dev/gpus":null},"labels":{}}})");
}

}  // namespace
}  // namespace tessera
