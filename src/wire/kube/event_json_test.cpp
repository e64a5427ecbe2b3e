#include "wire/kube/event_json.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Goal: exactly the event that kubectl describe shows, for the pod with this uid only.
TEST(EventJson, Writes) {
    EXPECT_EQ(
        write_pod_event({.pod = PodUid("u"),
                         .name = {"s", "p"},
                         .type = PodEventType::warning,
                         .reason = "Why",
                         .message = "a \"word\"",
                         .source = "tessera-agent"},
                        1),
        R"({"apiVersion":"v1","kind":"Event","metadata":{"generateName":"p.","namespace":"s"},)"
        R"("involvedObject":{"apiVersion":"v1","kind":"Pod","name":"p","namespace":"s",)"
        R"("uid":"u"},"type":"Warning","reason":"Why","message":"a \"word\"",)"
        R"("source":{"component":"tessera-agent"},"firstTimestamp":"1970-01-01T00:00:01Z",)"
        R"("lastTimestamp":"1970-01-01T00:00:01Z","count":1})");
    EXPECT_EQ(write_event_again(2, 1), R"({"count":2,"lastTimestamp":"1970-01-01T00:00:01Z"})");
}

}  // namespace
}  // namespace tessera
