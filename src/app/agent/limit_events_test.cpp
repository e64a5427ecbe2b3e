#include "app/agent/limit_events.hpp"

#include <gtest/gtest.h>

#include "testing/fakes/fake_node.hpp"
#include "testing/fakes/fake_pod_events.hpp"

namespace tessera {
namespace {

class LimitEventsTest : public testing::Test {
  protected:
    void use(const char* pod, std::int64_t refusals, const char* name = "p") {
        shares_.used.push_back({.pod = PodUid(pod),
                                .name = {"space", name},
                                .container = "main",
                                .card = GpuUuid("GPU-a"),
                                .held = Bytes{kGiB},
                                .limit = Bytes{3 * kGiB},
                                .refusals = refusals});
    }

    FakeShareHolder shares_;
    FakePodEvents events_;
    LimitEvents limits_{shares_, events_};
};

TEST_F(LimitEventsTest, TellsOnceOfEachContainerThatWasRefused) {
    use("at-limit", 2);
    use("below", 0);
    limits_.look();
    limits_.look();
    ASSERT_EQ(events_.told.size(), 1U);
    EXPECT_EQ(events_.told[0].pod, PodUid("at-limit"));
    EXPECT_EQ(events_.told[0].type, PodEventType::warning);
    EXPECT_EQ(events_.told[0].message,
              "Container main has reached its limit of 3Gi on GPU-a: it was refused memory (CUDA "
              "says out of memory), and holds 1Gi. A larger share is asked for by tessera resize");
}

TEST_F(LimitEventsTest, TriesAgainWhatCouldNotBeTold) {
    use("a", 1);
    use("b", 1);
    events_.next_error = {Code::unavailable, "away"};
    limits_.look();
    EXPECT_TRUE(events_.told.empty());
    limits_.look();
    EXPECT_EQ(events_.told.size(), 2U);
}

// Goal: who cannot be told keeps nobody else from it, and is not tried again and again.
TEST_F(LimitEventsTest, WhatIsRefusedIsLeft) {
    for (const Code refusal : {Code::not_found, Code::permission_denied}) {
        use("refused", 1);
        use("b", 1);
        events_.next_error = {refusal, "no"};
        LimitEvents limits(shares_, events_);
        limits.look();
        limits.look();
        ASSERT_EQ(events_.told.size(), 1U);
        EXPECT_EQ(events_.told[0].pod, PodUid("b"));
        EXPECT_FALSE(shares_.is_told(PodUid("refused"), "main")) << "the next agent tries";
        events_.told.clear();
        shares_.told.clear();
        shares_.used.clear();
    }
}

// Goal: a disk that is full makes no flood of events.
TEST_F(LimitEventsTest, TellsOnceThoughItCannotBeNoted) {
    use("a", 1);
    limits_.look();
    shares_.told.clear();
    limits_.look();
    EXPECT_EQ(events_.told.size(), 1U);
}

TEST_F(LimitEventsTest, WhoHasNoNameIsNotTold) {
    use("a", 1, "");
    limits_.look();
    EXPECT_TRUE(events_.told.empty());
}

}  // namespace
}  // namespace tessera
