#include "adapters/kube/kube_pod_resizes.hpp"

#include <gtest/gtest.h>

#include "adapters/kube/scripted_server_test.hpp"

namespace tessera {
namespace {

const PodUid kUid("u");
const PodName kPod{"s", "p"};
constexpr const char* kGet = "GET /api/v1/namespaces/s/pods/p";
constexpr const char* kStatus = "PATCH /api/v1/namespaces/s/pods/p/status";
constexpr const char* kPatch = "PATCH /api/v1/namespaces/s/pods/p";

// Goal: the values that a resize needs are read from the pod, as the API server has it.
TEST(KubePodResizes, Reads) {
    ScriptedServer server;
    server.answer(
        kGet, 200,
        R"({"metadata":{"uid":"u","name":"p","namespace":"s","resourceVersion":"7",)"
        R"("annotations":{"tessera.dev/resize-request":"request","tessera.dev/resize-refused":"no"}}})");
    KubePodResizes pods(server.client(), nullptr);
    const auto pod = pods.read(kPod);
    ASSERT_TRUE(pod) << pod.error().text;
    EXPECT_EQ(pod->info.uid, kUid);
    EXPECT_EQ(pod->version, "7");
    EXPECT_EQ(pod->requested, "request");
    EXPECT_EQ(pod->refusal, "no");
    EXPECT_EQ(pods.read({"s", "gone"}).error().code, Code::not_found);
}

// Goal: a write names the pod's uid and version, and nothing else of the pod.
TEST(KubePodResizes, Writes) {
    ScriptedServer server;
    server.answer(kStatus, 200, "{}");
    server.answer(kPatch, 200, "{}");
    KubePodResizes pods(server.client(), nullptr);
    EXPECT_TRUE(pods.write(kUid, kPod, "7", {{"a", "b"}, {"gone", ""}}));
    EXPECT_EQ(
        server.requests().back().body,
        R"({"metadata":{"uid":"u","resourceVersion":"7","annotations":{"a":"b","gone":null}}})");
    EXPECT_TRUE(pods.request(kUid, kPod, "7", "text"));
    EXPECT_EQ(
        server.requests().back().body,
        R"({"metadata":{"uid":"u","resourceVersion":"7","annotations":{"tessera.dev/resize-request":"text"}}})");
}

// Goal: a write that lost to another one is distinguished from one with an unknown outcome.
TEST(KubePodResizes, Refusals) {
    for (const auto& [status, code] :
         std::vector<std::pair<int, Code>>{{409, Code::conflict},
                                           {403, Code::permission_denied},
                                           {404, Code::not_found},
                                           {422, Code::invalid_argument},
                                           {500, Code::unavailable},
                                           {504, Code::unavailable}}) {
        ScriptedServer server;
        server.answer(kStatus, status, "{}");
        KubePodResizes pods(server.client(), nullptr);
        const auto written = pods.write(kUid, kPod, "7", {});
        ASSERT_FALSE(written);
        EXPECT_EQ(written.error().code, code) << status;
    }
}

}  // namespace
}  // namespace tessera
