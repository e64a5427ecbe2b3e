#include "adapters/kube/kube_pod_events.hpp"

#include <gtest/gtest.h>

#include "adapters/kube/scripted_server_test.hpp"

namespace tessera {
namespace {

// Goal: the event is posted where the pod is, and what the server says of it comes back.
TEST(KubePodEvents, Tells) {
    ScriptedServer server;
    server.answer("POST /api/v1/namespaces/s/events", 201, "{}");
    server.answer("POST /api/v1/namespaces/gone/events", 404, "{}");
    KubePodEvents events(server.endpoint());
    EXPECT_TRUE(events.tell({.pod = PodUid("u"), .name = {"s", "p"}, .reason = "Why"}));
    EXPECT_NE(server.requests().back().body.find(R"("reason":"Why")"), std::string::npos);
    const auto refused = events.tell({.pod = PodUid("u"), .name = {"gone", "p"}, .reason = "Why"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::not_found);
}

// Goal: the same again is counted in the event that is there; where that is gone another is made.
TEST(KubePodEvents, CountsTheSameAgain) {
    ScriptedServer server;
    const std::string post = "POST /api/v1/namespaces/s/events";
    const std::string patch = "PATCH /api/v1/namespaces/s/events/p.1";
    server.answer(post, 201, R"({"metadata":{"name":"p.1"}})");
    server.answer(patch, 200, "{}");
    server.answer(patch, 200, "{}");
    server.answer(patch, 500, "{}");
    server.answer(patch, 404, "{}");
    KubePodEvents events(server.endpoint());
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
    EXPECT_EQ(server.requests().back().method, "PATCH") << "it may be there, and is not told twice";
    EXPECT_TRUE(events.tell(event));
    EXPECT_EQ(server.requests().back().method, "POST") << "it was gone";
}

}  // namespace
}  // namespace tessera
