#include "wire/workload/object_event_json.hpp"

#include <gtest/gtest.h>

namespace tessera::workload {
namespace {

ObjectEvent read(std::string_view text) {
    const auto document = JsonDocument::parse(text);
    return document ? read_object_event(document->root()) : ObjectEvent{};
}

// As kubelet and kube-scheduler write them.
TEST(ObjectEventJson, BothKindsOfTimes) {
    const ObjectEvent old = read(
        R"({"involvedObject":{"kind":"Pod","name":"train-worker-0","uid":"u1"},"type":"Warning",
            "reason":"BackOff","message":"Back-off\nrestarting","count":5,
            "firstTimestamp":"2026-01-31T11:00:00Z","lastTimestamp":"2026-01-31T11:01:00Z",
            "eventTime":null,"metadata":{"creationTimestamp":"2026-01-31T11:00:00Z"}})");
    EXPECT_EQ(old, (ObjectEvent{.uid = "u1",
                                .object = "pod/train-worker-0",
                                .type = "Warning",
                                .reason = "BackOff",
                                .message = "Back-off restarting",
                                .count = 5,
                                .last_s = 1'769'857'260}));
    const ObjectEvent scheduled = read(
        R"({"involvedObject":{"kind":"Pod","name":"p","uid":"u"},"type":"Normal",
            "reason":"Scheduled","message":"m","eventTime":"2026-01-31T11:00:00.123456Z",
            "firstTimestamp":null,"lastTimestamp":null})");
    EXPECT_EQ(scheduled.last_s, 1'769'857'200);
    EXPECT_EQ(scheduled.count, 1);
    const ObjectEvent series = read(
        R"({"series":{"count":7,"lastObservedTime":"2026-01-31T11:02:00Z"},
            "eventTime":"2026-01-31T11:00:00Z","involvedObject":{"kind":"Job","name":"j"}})");
    EXPECT_EQ(series.last_s, 1'769'857'320);
    EXPECT_EQ(series.count, 7);
    EXPECT_EQ(series.object, "job/j");
}

TEST(ObjectEventJson, WhatIsMissingOrWrong) {
    EXPECT_EQ(read("{}").object, "/");
    EXPECT_EQ(read(R"({"metadata":{"creationTimestamp":"2026-01-31T11:00:00Z"}})").last_s,
              1'769'857'200);
    EXPECT_EQ(read(R"({"count":-3,"series":"none","involvedObject":[1]})").count, 1);
    EXPECT_EQ(read(R"({"lastTimestamp":"yesterday"})").last_s, 0);
}

}  // namespace
}  // namespace tessera::workload
