#include "adapters/kube/kube_pod_events.hpp"

#include <gtest/gtest.h>

#include "adapters/kube/scripted_server_test.hpp"

namespace tessera {
namespace {

// Goal: the event is posted in the pod's namespace, and the server's answer is returned.
TEST(KubePodEvents, Tells) {
    ScriptedServer server;
    server.answer("POST /api/v1/namespaces/s/events", 201, "{}");
    server.answer("POST /api/v1/namespaces/gone/events", 404, "{}");
    KubePodEvents events(server.client());
    EXPECT_TRUE(events.tell({.pod = PodUid("u"), .name = {"s", "p"}, .reason = "Why"}));
    EXPECT_NE(server.requests().back().body.find(R"("reason":"Why")"), std::string::npos);
    const auto refused = events.tell({.pod = PodUid("u"), .name = {"gone", "p"}, .reason = "Why"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::not_found);
}

// Goal: an equal event increases the count of the existing one; if that is gone, a new one is
// created.
TEST(KubePodEvents, CountsTheSameAgain) {
    ScriptedServer server;
    const std::string post = "POST /api/v1/namespaces/s/events";
    const std::string patch = "PATCH /api/v1/namespaces/s/events/p.1";
    server.answer(post, 201, R"({"metadata":{"name":"p.1"}})");
    server.answer(patch, 200, "{}");
    server.answer(patch, 200, "{}");
    server.answer(patch, 500, "{}");
    server.answer(patch, 404, "{}");
    KubePodEvents events(server.client());
    const PodEvent event{.pod = PodUid("u"), .name = {"s", "p"}, .reason = "Why", .message = "no"};
    PodEvent other = event;
    other.message = "another";
    for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(events.tell(event));
    EXPECT_TRUE(server.requests().back().body.starts_with(R"({"count":3,"lastTimestamp":)"));
    EXPECT_EQ(server.requests().size(), 3U);
    EXPECT_TRUE(events.tell(other));
    EXPECT_EQ(server.requests().back().method, "POST");
    EXPECT_FALSE(events.tell(event));
    EXPECT_EQ(server.requests().back().method, "PATCH") << "it may exist, and is not written twice";
    EXPECT_TRUE(events.tell(event));
    EXPECT_EQ(server.requests().back().method, "POST") << "it was gone";
}

}  // namespace
}  // namespace tessera
