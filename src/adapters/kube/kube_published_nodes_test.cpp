#include "adapters/kube/kube_published_nodes.hpp"

#include <gtest/gtest.h>

#include "adapters/kube/scripted_server_test.hpp"

namespace tessera {
namespace {

const PublishedNode kNode{.name = NodeName("n"),
                          .annotations = {"tessera.dev/gpus"},
                          .labels = {"tessera.dev/gpu-count"},
                          .amounts = {"tessera.dev/gpu-memory"}};

// Goal: the amounts are removed first, so that a removal that is cut short can be repeated.
TEST(KubePublishedNodes, Removes) {
    ScriptedServer server;
    server.answer("PATCH /api/v1/nodes/n/status", 200, "{}");
    server.answer("PATCH /api/v1/nodes/n", 200, "{}");
    KubePublishedNodes nodes(server.client(), "tessera-system");
    EXPECT_TRUE(nodes.remove(kNode));
    const auto requests = server.requests();
    ASSERT_EQ(requests.size(), 2);
    EXPECT_EQ(requests[0].path, "/api/v1/nodes/n/status");
    EXPECT_EQ(requests[0].body, R"({"status":{"capacity":{"tessera.dev/gpu-memory":null},)"
                                R"("allocatable":{"tessera.dev/gpu-memory":null}}})");
    EXPECT_EQ(requests[1].body, R"({"metadata":{"annotations":{"tessera.dev/gpus":null},)"
                                R"("labels":{"tessera.dev/gpu-count":null}}})");
}

// Goal: a Node that is gone is no error; a missing right is.
TEST(KubePublishedNodes, Refusals) {
    for (const auto& [status, ok] : {std::pair{404, true}, {403, false}, {500, false}}) {
        ScriptedServer server;
        server.answer("PATCH /api/v1/nodes/n/status", status, "{}");
        server.answer("PATCH /api/v1/nodes/n", 404, "{}");
        KubePublishedNodes nodes(server.client(), "tessera-system");
        EXPECT_EQ(nodes.remove(kNode).has_value(), ok) << status;
    }
}

// Goal: agents that have ended publish nothing, and pods without a node never did.
TEST(KubePublishedNodes, FindsAgents) {
    ScriptedServer server;
    server.answer("GET /api/v1/namespaces/tessera-system/pods", 200,
                  R"({"kind":"PodList","metadata":{"resourceVersion":"1"},"items":[)"
                  R"({"spec":{"nodeName":"b"},"status":{"phase":"Running"}},)"
                  R"({"spec":{"nodeName":"a"},"status":{"phase":"Pending"}},)"
                  R"({"spec":{},"status":{"phase":"Pending"}},)"
                  R"({"spec":{"nodeName":"c"},"status":{"phase":"Failed"}}]})");
    KubePublishedNodes nodes(server.client(), "tessera-system");
    const auto found = nodes.nodes_with_agents();
    ASSERT_TRUE(found) << found.error().text;
    EXPECT_EQ(*found, (std::vector{NodeName("a"), NodeName("b")}));
}

}  // namespace
}  // namespace tessera
