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

}  // namespace
}  // namespace tessera
