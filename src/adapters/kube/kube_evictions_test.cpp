#include "adapters/kube/kube_evictions.hpp"

#include <gtest/gtest.h>

#include "adapters/kube/scripted_server_test.hpp"

namespace tessera {
namespace {

const PodUid pod_uid("u");
const PodName pod_name{"s", "p"};
constexpr const char* kEvict = "POST /api/v1/namespaces/s/pods/p/eviction";
constexpr const char* kStatus = "PATCH /api/v1/namespaces/s/pods/p/status";

// Goal: may_evict() evicts nothing; each write is the one that its name says.
TEST(KubeEvictions, Writes) {
    ScriptedServer server;
    server.answer(kEvict, 201, "{}");
    server.answer(kStatus, 200, "{}");
    server.answer("POST /api/v1/namespaces/s/events", 201, "{}");
    KubeEvictions evictions(server.client());
    const auto last = [&] { return server.requests().back().body; };
    const auto has = [](const std::string& text, const char* part) {
        return text.find(part) != std::string::npos;
    };
    EXPECT_TRUE(evictions.may_evict(pod_uid, pod_name).value());
    EXPECT_TRUE(has(last(), R"("dryRun":["All"])"));
    EXPECT_TRUE(evictions.evict(pod_uid, pod_name).value());
    EXPECT_FALSE(has(last(), "dryRun"));
    EXPECT_TRUE(evictions.mark_preempted(pod_uid, pod_name, {"s", "high"}));
    EXPECT_TRUE(has(server.requests()[2].body, "PreemptionByScheduler"));
    EXPECT_TRUE(has(last(), "Preempted by pod s/high"));
    EXPECT_TRUE(evictions.nominate(pod_uid, pod_name, NodeName("n")));
    EXPECT_TRUE(has(last(), R"("nominatedNodeName":"n")"));
    EXPECT_TRUE(evictions.nominate_ahead(pod_uid, pod_name, NodeName("n")));
    EXPECT_TRUE(has(last(), R"("op":"add","path":"/status/nominatedNodeName","value":"n")"));
    EXPECT_TRUE(evictions.withdraw(pod_uid, pod_name, NodeName("n")));
    EXPECT_TRUE(has(last(), R"("op":"remove")"));
    EXPECT_EQ(server.requests().size(), 7U);
}

// Goal: the users of an evicted pod do not see the name of a pod in another namespace, neither in
// its condition nor in its event.
TEST(KubeEvictions, DoNotNamePodsOfOtherNamespaces) {
    ScriptedServer server;
    server.answer(kStatus, 200, "{}");
    server.answer("POST /api/v1/namespaces/s/events", 201, "{}");
    KubeEvictions evictions(server.client());
    EXPECT_TRUE(evictions.mark_preempted(pod_uid, pod_name, {"secret-team", "secret-pod"}));
    ASSERT_EQ(server.requests().size(), 2U);
    for (const auto& request : server.requests()) {
        EXPECT_EQ(request.body.find("secret"), std::string::npos) << request.body;
        EXPECT_NE(request.body.find("a pod of another namespace"), std::string::npos);
    }
}

// Goal: a forbidden eviction is distinguished from a pod that is gone and from a failing server.
// Only the first is a reason to choose other victims. Method: a table of answers.
TEST(KubeEvictions, Refusals) {
    struct Case {
        int status;
        const char* body;
        bool is_no;
        Code code;
    };
    constexpr const char* kBudget = R"({"details":{"causes":[{"reason":"DisruptionBudget"}]}})";
    constexpr const char* kNoRight = R"({"message":"cannot create resource \"pods/eviction\""})";
    constexpr const char* kNamesake = R"({"message":"Precondition failed: UID in precondition"})";
    for (const Case& c :
         {Case{429, kBudget, true, {}}, Case{403, "{}", true, {}}, Case{400, "{}", true, {}},
          Case{422, "{}", true, {}}, Case{403, kNoRight, false, Code::permission_denied},
          Case{401, "{}", false, Code::unauthenticated},
          Case{409, kNamesake, false, Code::not_found}, Case{429, "{}", false, Code::unavailable},
          Case{500, "{}", false, Code::unavailable}, Case{404, "{}", false, Code::not_found},
          Case{409, "{}", false, Code::conflict}}) {
        ScriptedServer server;
        server.answer(kEvict, c.status, c.body);
        KubeEvictions evictions(server.client());
        for (const auto& answer :
             {evictions.evict(pod_uid, pod_name), evictions.may_evict(pod_uid, pod_name)}) {
            ASSERT_EQ(answer.has_value(), c.is_no) << c.status;
            if (c.is_no) {
                EXPECT_FALSE(*answer) << c.status;
            } else {
                EXPECT_EQ(answer.error().code, c.code) << c.status;
            }
        }
    }
}

}  // namespace
}  // namespace tessera
