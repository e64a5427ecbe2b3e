#include "adapters/kube/agent_reader.hpp"

#include <gtest/gtest.h>

#include "adapters/kube/scripted_server_test.hpp"

namespace tessera {
namespace {

constexpr const char* kAgents =
    R"({"items":[)"
    R"({"metadata":{"name":"a2"},"spec":{"nodeName":"n2","containers":[{"ports":[)"
    R"({"name":"metrics","containerPort":9}]}]},"status":{"phase":"Running"}},)"
    R"({"metadata":{"name":"a1"},"spec":{"nodeName":"n1","containers":[{"ports":[)"
    R"({"name":"metrics","containerPort":9}]}]},"status":{"phase":"Running"}},)"
    R"({"metadata":{"name":"a3"},"spec":{"nodeName":"n3","containers":[{}]},)"
    R"("status":{"phase":"Running"}},)"
    R"({"metadata":{"name":"a4"},"spec":{"nodeName":"n4","containers":[{}]},)"
    R"("status":{"phase":"Pending"}}]})";
constexpr const char* kList = "GET /api/v1/namespaces/t/pods";
constexpr const char* kOfA1 = "GET /api/v1/namespaces/t/pods/a1:9/proxy/shares";
constexpr const char* kOfA2 = "GET /api/v1/namespaces/t/pods/a2:9/proxy/shares";

std::string shares_of(const char* node) {
    return write_share_uses(
        {NodeName(node),
         {{.pod = PodUid("u"), .name = {"s", "p"}, .container = "main", .gpu = GpuUuid("GPU-a")}}});
}

// Goal: each node's answer under its name, and the reason if there is none.
TEST(AgentReader, AsksThroughTheApiServer) {
    ScriptedServer server;
    server.answer(kList, 200, kAgents);
    server.answer(kOfA1, 200, shares_of("n1"));
    server.answer(kOfA2, 200, shares_of("n1"));
    const auto answers = query_agents(server.client(), "t");
    ASSERT_TRUE(answers) << answers.error().text;
    ASSERT_EQ(answers->size(), 3U);
    EXPECT_EQ((*answers)[0].node, NodeName("n1"));
    ASSERT_TRUE((*answers)[0].shares);
    EXPECT_EQ((*answers)[0].shares->at(0).container, "main");
    ASSERT_FALSE((*answers)[1].shares);
    EXPECT_EQ((*answers)[1].shares.error().text, "the agent of n1 answers on its agent's port");
    ASSERT_FALSE((*answers)[2].shares);
    EXPECT_NE((*answers)[2].shares.error().text.find("agent.listen"), std::string::npos);
}

TEST(AgentReader, AsksOneNodeAlone) {
    ScriptedServer server;
    server.answer(kList, 200, kAgents);
    server.answer(kOfA2, 200, shares_of("n2"));
    const auto answers = query_agents(server.client(), "t", NodeName("n2"));
    ASSERT_TRUE(answers);
    ASSERT_EQ(answers->size(), 1U);
    EXPECT_TRUE((*answers)[0].shares);
    EXPECT_EQ(server.requests().size(), 2U);
}

// Goal: an agent whose pod is not ready, as while it restarts again and again, does not count.
TEST(AgentReader, NodesWithAReadyAgent) {
    const auto agent = [](const char* node, const char* ready) {
        return std::string(R"({"metadata":{"labels":{"app.kubernetes.io/name":"tessera",)") +
               R"("app.kubernetes.io/component":"agent"}},"spec":{"nodeName":")" + node +
               R"("},"status":{"phase":"Running","conditions":[{"type":"Ready","status":")" +
               ready + R"("}]}})";
    };
    ScriptedServer server;
    server.answer("GET /api/v1/pods", 200,
                  R"({"metadata":{"resourceVersion":"1"},"items":[)" + agent("n1", "True") + "," +
                      agent("n2", "False") + "]}");
    const auto nodes = nodes_with_ready_agent(server.client());
    ASSERT_TRUE(nodes) << nodes.error().text;
    EXPECT_EQ(*nodes, (std::set<NodeName>{NodeName("n1")}));
}

// Goal: a user without permission learns which one is missing.
TEST(AgentReader, NamesTheRight) {
    ScriptedServer server;
    server.answer(kList, 403, R"({"message":"pods is forbidden"})");
    const auto none = query_agents(server.client(), "t");
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().text.find("tessera-viewer in t"), std::string::npos);
}

}  // namespace
}  // namespace tessera
