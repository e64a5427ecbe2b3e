#include "adapters/kube/kube_defrag.hpp"

#include <gtest/gtest.h>

#include "adapters/kube/scripted_server_test.hpp"

namespace tessera {
namespace {

const PodUid kUid("u");
const PodName kPod{"s", "p"};
constexpr const char* kEvict = "POST /api/v1/namespaces/s/pods/p/eviction";
constexpr const char* kEmpty = R"({"metadata":{"resourceVersion":"1"},"items":[]})";

std::string list_of(const std::string& item) {
    return R"({"metadata":{"resourceVersion":"1"},"items":[)" + item + "]}";
}

TEST(KubeDefrag, ReadsTheCluster) {
    ScriptedServer server;
    server.answer("GET /api/v1/nodes", 200,
                  list_of(R"({"metadata":{"name":"n"},"spec":{"unschedulable":true}})"));
    server.answer("GET /apis/policy/v1/poddisruptionbudgets", 200,
                  list_of(R"({"metadata":{"name":"b","namespace":"s"}})"));
    server.answer("GET /api/v1/pods", 200,
                  list_of(R"({"metadata":{"uid":"u","name":"p","namespace":"s"},"spec":{)"
                          R"("containers":[{"name":"m","resources":{"limits":)"
                          R"({"tessera.dev/gpu":"1"}}}]}},)"
                          R"({"metadata":{"uid":"v","name":"plain"},"spec":{}})"));
    KubeDefrag cluster(server.client());
    const auto read = cluster.read();
    ASSERT_TRUE(read) << read.error().text;
    EXPECT_EQ(read->nodes.size(), 1U);
    ASSERT_EQ(read->traits.size(), 1U);
    EXPECT_TRUE(read->traits.front().closed);
    EXPECT_EQ(read->budgets.size(), 1U);
    ASSERT_EQ(read->pods.size(), 1U);
    ASSERT_EQ(read->states.size(), 1U);
    EXPECT_EQ(read->states.front().uid, kUid);
}

// Goal: budgets that may not be read never count as missing.
TEST(KubeDefrag, NeedsTheBudgets) {
    ScriptedServer server;
    server.answer("GET /api/v1/nodes", 200, kEmpty);
    server.answer("GET /api/v1/pods", 200, kEmpty);
    server.answer("GET /apis/policy/v1/poddisruptionbudgets", 403, R"({"message":"no"})");
    const auto read = KubeDefrag(server.client()).read();
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Code::permission_denied);
    EXPECT_NE(read.error().text.find("list poddisruptionbudgets.policy"), std::string::npos);
}

// A server with one pod, which belongs to a Job.
void answer_pod_of_a_job(ScriptedServer& server, const std::string& annotations) {
    server.answer("GET /api/v1/nodes", 200, kEmpty);
    server.answer("GET /apis/policy/v1/poddisruptionbudgets", 200, kEmpty);
    server.answer("GET /api/v1/pods", 200,
                  list_of(R"({"metadata":{"uid":"u","name":"p","namespace":"s","annotations":{)" +
                          annotations +
                          R"(},"ownerReferences":[{"kind":"Job","name":"j","uid":"ju",)"
                          R"("controller":true}]},"spec":{"containers":[{"name":"m",)"
                          R"("resources":{"limits":{"tessera.dev/gpu":"1"}}}]}})"));
}

constexpr const char* kJobs = "GET /apis/batch/v1/jobs";
constexpr const char* kAllowed = R"("tessera.dev/movable":"true")";

// Goal: if a pod of a Job may be moved, it is known which Jobs wait until the old pod is gone.
TEST(KubeDefrag, ReadsTheJobsOfWhoMayBeMoved) {
    ScriptedServer server;
    answer_pod_of_a_job(server, kAllowed);
    server.answer(kJobs, 200,
                  list_of(R"({"metadata":{"uid":"ju"},"spec":{"podReplacementPolicy":"Failed"}},)"
                          R"({"metadata":{"uid":"k"},)"
                          R"("spec":{"podReplacementPolicy":"TerminatingOrFailed"}},)"
                          R"({"metadata":{"uid":"l"},"spec":{}})"));
    const auto read = KubeDefrag(server.client()).read();
    ASSERT_TRUE(read) << read.error().text;
    EXPECT_EQ(read->waiting_jobs, std::set<std::string>{"ju"});
}

// Goal: a user that may not list Jobs gets an error, but only if a pod of a Job is to be moved.
TEST(KubeDefrag, NeedsTheJobsOfWhoMayBeMoved) {
    for (const char* annotations : {"", kAllowed}) {
        ScriptedServer server;
        answer_pod_of_a_job(server, annotations);
        server.answer(kJobs, 403, R"({"message":"no"})");
        const auto read = KubeDefrag(server.client()).read();
        EXPECT_EQ(read.has_value(), annotations != kAllowed);
        if (read) continue;
        EXPECT_EQ(read.error().code, Code::permission_denied);
        EXPECT_NE(read.error().text.find("list jobs.batch"), std::string::npos);
    }
}

// Goal: the object that forbids an eviction is named; a pod that is gone and a failing server are
// distinguished from that. Method: a table of answers.
TEST(KubeDefrag, Evicts) {
    struct Case {
        int status;
        const char* body;
        Code code;
    };
    constexpr const char* kBudget =
        R"({"message":"no","details":{"causes":[{"reason":"DisruptionBudget","message":"b"}]}})";
    constexpr const char* kNoRight = R"({"message":"cannot create resource \"pods/eviction\""})";
    constexpr const char* kNamesake = R"({"message":"Precondition failed: UID in precondition"})";
    for (const Case& c : {Case{429, kBudget, Code::conflict}, Case{403, "{}", Code::conflict},
                          Case{403, kNoRight, Code::permission_denied},
                          Case{409, kNamesake, Code::not_found}, Case{404, "{}", Code::not_found},
                          Case{429, "{}", Code::unavailable}, Case{500, "{}", Code::unavailable}}) {
        ScriptedServer server;
        server.answer(kEvict, c.status, c.body);
        const auto evicted = KubeDefrag(server.client()).evict(kUid, kPod);
        ASSERT_FALSE(evicted);
        EXPECT_EQ(evicted.error().code, c.code) << c.status << c.body;
        if (c.body == kBudget) {
            EXPECT_EQ(evicted.error().text, "no b");
        }
    }
    ScriptedServer server;
    server.answer(kEvict, 201, "{}");
    EXPECT_TRUE(KubeDefrag(server.client()).evict(kUid, kPod));
    EXPECT_NE(server.requests().back().body.find(R"("uid":"u")"), std::string::npos);
}

}  // namespace
}  // namespace tessera
