#include "adapters/kube/kube_dump.hpp"

#include <gtest/gtest.h>

#include "adapters/kube/scripted_server_test.hpp"

namespace tessera {
namespace {

std::string list_of(const std::string& items, const std::string& next = "") {
    return R"({"metadata":{"resourceVersion":"1","continue":")" + next + R"("},"items":[)" + items +
           "]}";
}

// Goal: nodes, pods of several pages, closed nodes, and pods that choose their nodes. A pod that
// terminates before it was placed is left out. Only GET requests are sent.
TEST(KubeDump, ReadsTheCluster) {
    ScriptedServer server;
    server.answer("GET /api/v1/nodes", 200,
                  list_of(R"({"metadata":{"name":"n","annotations":{"tessera.dev/gpus":)"
                          R"("{\"version\":1,\"unit\":\"GiB\",\"identity\":\"nri\",\"gpus\":[)"
                          R"({\"uuid\":\"GPU-0\",\"index\":0,\"minor\":0,\"model\":\"T4\",)"
                          R"(\"memory\":16106127360,\"reserved\":0,\"health\":\"healthy\"}]}"}},)"
                          R"("spec":{"unschedulable":true},)"
                          R"("status":{"allocatable":{"cpu":"8","memory":"32Gi"}}})"));
    const std::string limits =
        R"("containers":[{"name":"m","resources":{"limits":{"tessera.dev/gpu":"1"}}}])";
    server.answer(
        "GET /api/v1/pods", 200,
        list_of(
            R"({"metadata":{"uid":"u","name":"p","namespace":"s",)"
            R"("annotations":{"tessera.dev/gpu-models":"T4"},"labels":{"tessera.dev/gpu-anti-affinity":"a"},)"
            R"("creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{)"
            R"("nodeSelector":{"a":"b"},)" +
                limits +
                R"(}},{"metadata":{"uid":"w","name":"ends",)"
                R"("deletionTimestamp":"2026-01-02T00:00:00Z"},"spec":{)" +
                limits + "}}",
            "more"));
    server.answer("GET /api/v1/pods", 200,
                  list_of(R"({"metadata":{"uid":"v","name":"plain"},"spec":{"nodeName":"n",)"
                          R"("containers":[{"resources":{"requests":{"cpu":"500m"}}}]}})"));
    const auto read = read_cluster_dump(server.client());
    ASSERT_TRUE(read) << read.error().text;
    ASSERT_EQ(read->nodes.size(), 1U);
    const DumpNode& node = read->nodes.front();
    EXPECT_TRUE(node.closed);
    EXPECT_EQ(node.host.cpu_milli, 8'000);
    EXPECT_EQ(node.others.cpu_milli, 500);
    EXPECT_EQ(node.gpus, (std::vector<DumpGpu>{{"T4", gibibytes(15), {}, true, GpuUuid("GPU-0")}}));
    ASSERT_EQ(read->pods.size(), 1U);
    const DumpPod& pod = read->pods.front();
    EXPECT_EQ(pod.name, (PodName{"s", "p"}));
    EXPECT_EQ(pod.created, "2026-01-01T00:00:00Z");
    EXPECT_TRUE(pod.chooses_nodes);
    EXPECT_EQ(pod.gpu_rules, (GpuRuleTexts{"T4", "", "a", ""}));
    EXPECT_TRUE(pod.node.empty());
    for (const HttpRequest& request : server.requests())
        EXPECT_EQ(request.method, "GET");
}

TEST(KubeDump, SaysWhichRightIsNeeded) {
    ScriptedServer server;
    server.answer("GET /api/v1/nodes", 200, list_of(""));
    server.answer("GET /api/v1/pods", 403, R"({"message":"no"})");
    const auto read = read_cluster_dump(server.client());
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Code::permission_denied);
    EXPECT_TRUE(read.error().text.ends_with("no; you need the right to list pods"))
        << read.error().text;
}

}  // namespace
}  // namespace tessera
