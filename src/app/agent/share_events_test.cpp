#include "app/agent/share_events.hpp"

#include <gtest/gtest.h>

#include "testing/fakes/fake_node.hpp"
#include "testing/fakes/fake_pod_events.hpp"

namespace tessera {
namespace {

class ShareEventsTest : public testing::Test {
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
    ShareEvents limits_{shares_, events_};
};

TEST_F(ShareEventsTest, TellsOnceOfEachContainerThatWasRefused) {
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

TEST_F(ShareEventsTest, TriesAgainWhatCouldNotBeTold) {
    use("a", 1);
    use("b", 1);
    events_.next_error = {Code::unavailable, "away"};
    limits_.look();
    EXPECT_TRUE(events_.told.empty());
    limits_.look();
    EXPECT_EQ(events_.told.size(), 2U);
}

// Goal: who cannot be told keeps nobody else from it, and is not tried again and again.
TEST_F(ShareEventsTest, WhatIsRefusedIsLeft) {
    for (const Code refusal : {Code::not_found, Code::permission_denied}) {
        use("a-refused", 1);
        use("b", 1);
        events_.next_error = {refusal, "no"};
        ShareEvents limits(shares_, events_);
        limits.look();
        limits.look();
        ASSERT_EQ(events_.told.size(), 1U);
        EXPECT_EQ(events_.told[0].pod, PodUid("b"));
        EXPECT_EQ(shares_.refusals_told(PodUid("a-refused"), "main"), 0) << "the next agent tries";
        events_.told.clear();
        shares_.told.clear();
        shares_.used.clear();
    }
}

// Goal: a disk that is full makes no flood of events.
TEST_F(ShareEventsTest, TellsOnceThoughItCannotBeNoted) {
    use("a", 1);
    limits_.look();
    shares_.told.clear();
    limits_.look();
    EXPECT_EQ(events_.told.size(), 1U);
}

TEST_F(ShareEventsTest, TellsAgainAfterAGrowth) {
    use("a", 2);
    limits_.look();
    shares_.told["a/main"] = 2;
    limits_.look();
    EXPECT_EQ(events_.told.size(), 1U);
    shares_.used[0].refusals = 3;
    limits_.look();
    limits_.look();
    EXPECT_EQ(events_.told.size(), 2U);
}

// Goal: what tenants write of their refusals on two cards makes no sum that does not exist.
TEST_F(ShareEventsTest, TheMostRefusals) {
    use("a", std::numeric_limits<std::int64_t>::max());
    use("a", std::numeric_limits<std::int64_t>::max());
    limits_.look();
    EXPECT_EQ(events_.told.size(), 1U);
}

TEST_F(ShareEventsTest, TellsOnceOfDamagedAccounts) {
    use("a", 0);
    shares_.used[0].is_damaged = true;
    limits_.look();
    limits_.look();
    ASSERT_EQ(events_.told.size(), 1U);
    EXPECT_EQ(events_.told[0].reason, "GpuAccountsDamaged");
    shares_.used[0].is_damaged = false;
    limits_.look();
    shares_.used[0].is_damaged = true;
    limits_.look();
    EXPECT_EQ(events_.told.size(), 2U) << "it had started again";
}

TEST_F(ShareEventsTest, WhoHasNoNameIsNotTold) {
    use("a", 1, "");
    limits_.look();
    EXPECT_TRUE(events_.told.empty());
}

}  // namespace
}  // namespace tessera
