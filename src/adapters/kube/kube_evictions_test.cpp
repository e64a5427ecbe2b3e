#include "adapters/kube/kube_evictions.hpp"

#include <gtest/gtest.h>

#include "adapters/kube/scripted_server_test.hpp"

namespace tessera {
namespace {

const PodUid kUid("u");
const PodName kPod{"s", "p"};
const PodName kHigh{"s", "high"};
constexpr const char* kEvict = "POST /api/v1/namespaces/s/pods/p/eviction";
constexpr const char* kStatus = "PATCH /api/v1/namespaces/s/pods/p/status";

// Goal: who is only asked about does not end; who ends is marked afterwards.
TEST(KubeEvictions, AsksEvictsMarks) {
    ScriptedServer server;
    server.answer(kEvict, 201, "{}");
    server.answer(kStatus, 200, "{}");
    KubeEvictions evictions(server.endpoint());
    EXPECT_TRUE(evictions.may_evict(kUid, kPod));
    ASSERT_EQ(server.requests().size(), 1U);
    EXPECT_NE(server.requests().back().body.find(R"("dryRun":["All"])"), std::string::npos);
    EXPECT_TRUE(evictions.evict(kUid, kPod, kHigh));
    ASSERT_EQ(server.requests().size(), 3U);
    EXPECT_EQ(server.requests()[1].body.find("dryRun"), std::string::npos);
    EXPECT_NE(server.requests().back().body.find("PreemptionByScheduler"), std::string::npos);
    EXPECT_TRUE(evictions.nominate(kUid, kPod, NodeName("n")));
    EXPECT_NE(server.requests().back().body.find(R"("nominatedNodeName":"n")"), std::string::npos);
}

// Goal: a budget's refusal is told, and nobody is marked; a victim that was gone at once is no
// failure.
TEST(KubeEvictions, Refusals) {
    ScriptedServer server;
    server.answer(kEvict, 429, R"({"message":"Cannot evict pod as it would violate the budget"})");
    server.answer(kEvict, 201, "{}");
    server.answer(kStatus, 404, "{}");
    server.answer(kStatus, 409, "{}");
    KubeEvictions evictions(server.endpoint());
    const auto refused = evictions.evict(kUid, kPod, kHigh);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::unavailable);
    EXPECT_NE(refused.error().text.find("violate the budget"), std::string::npos);
    EXPECT_EQ(server.requests().size(), 1U);
    EXPECT_TRUE(evictions.evict(kUid, kPod, kHigh));
    EXPECT_EQ(evictions.nominate(kUid, kPod, NodeName("n")).error().code, Code::conflict);
}

}  // namespace
}  // namespace tessera
