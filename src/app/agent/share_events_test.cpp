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
    ShareEvents events_of_shares_{shares_, events_};
};

TEST_F(ShareEventsTest, TellsOnceOfEachContainerThatWasRefused) {
    use("at-limit", 2);
    use("below", 0);
    events_of_shares_.look();
    events_of_shares_.look();
    ASSERT_EQ(events_.told.size(), 1U);
    EXPECT_EQ(events_.told[0].pod, PodUid("at-limit"));
    EXPECT_EQ(events_.told[0].type, PodEventType::warning);
    EXPECT_EQ(
        events_.told[0].message,
        "Container main was refused memory (CUDA says out of memory): it asked for more than "
        "was left of its limit on GPU-a, which is 3Gi. A larger share is asked for by tessera "
        "resize");
}

TEST_F(ShareEventsTest, TriesAgainWhatCouldNotBeTold) {
    use("a", 1);
    use("b", 1);
    events_.next_error = {Code::unavailable, "away"};
    events_of_shares_.look();
    EXPECT_TRUE(events_.told.empty());
    events_of_shares_.look();
    EXPECT_EQ(events_.told.size(), 2U);
}

// Goal: who cannot be told keeps nobody else from it, and is not tried again and again.
TEST_F(ShareEventsTest, WhatIsRefusedIsLeft) {
    for (const Code refusal : {Code::not_found, Code::permission_denied}) {
        use("a-refused", 1);
        use("b", 1);
        events_.next_error = {refusal, "no"};
        ShareEvents events(shares_, events_);
        events.look();
        events.look();
        ASSERT_EQ(events_.told.size(), 1U);
        EXPECT_EQ(events_.told[0].pod, PodUid("b"));
        EXPECT_FALSE(shares_.told(shares_.used[0])) << "the next agent tries";
        events_.told.clear();
        shares_.noted.clear();
        shares_.used.clear();
    }
}

// Goal: a disk that is full makes no flood of events.
TEST_F(ShareEventsTest, TellsOnceThoughItCannotBeNoted) {
    use("a", 1);
    events_of_shares_.look();
    shares_.noted.clear();
    events_of_shares_.look();
    EXPECT_EQ(events_.told.size(), 1U);
}

// Goal: refusals by the limit of before are no news of the limit of now; the first one by that is.
// Also where the limit changed while the event was on its way, and where they are counted anew.
TEST_F(ShareEventsTest, TellsAgainAfterAChange) {
    use("a", 2);
    events_of_shares_.look();
    shares_.used[0].limit = Bytes{4 * kGiB};
    shares_.used[0].refusals = 3;
    events_of_shares_.look();
    events_of_shares_.look();
    EXPECT_EQ(events_.told.size(), 1U);
    shares_.used[0].refusals = 1;
    events_of_shares_.look();
    EXPECT_EQ(events_.told.size(), 1U) << "a new count";
    shares_.used[0].refusals = 2;
    events_of_shares_.look();
    events_of_shares_.look();
    ASSERT_EQ(events_.told.size(), 2U);
    EXPECT_NE(events_.told[1].message.find("which is 4Gi."), std::string::npos);
}

// Goal: of several cards the one whose limit was reached is named.
TEST_F(ShareEventsTest, TellsOfEachCard) {
    use("a", 100);
    events_of_shares_.look();
    use("a", 1);
    shares_.used[1].card = GpuUuid("GPU-b");
    events_of_shares_.look();
    ASSERT_EQ(events_.told.size(), 2U);
    EXPECT_NE(events_.told[1].message.find("GPU-b"), std::string::npos);
}

TEST_F(ShareEventsTest, TellsOnceOfDamagedAccounts) {
    use("a", 0);
    shares_.used[0].is_damaged = true;
    events_of_shares_.look();
    events_of_shares_.look();
    ASSERT_EQ(events_.told.size(), 1U);
    EXPECT_EQ(events_.told[0].reason, "GpuAccountsDamaged");
    shares_.used[0].is_damaged = false;
    events_of_shares_.look();
    shares_.used[0].is_damaged = true;
    events_of_shares_.look();
    EXPECT_EQ(events_.told.size(), 2U) << "it had started again";
}

// Goal: an agent that starts anew says nothing again.
TEST_F(ShareEventsTest, DamageIsRememberedByTheNextAgent) {
    use("a", 0);
    shares_.used[0].is_damaged = true;
    events_of_shares_.look();
    ShareEvents(shares_, events_).look();
    EXPECT_EQ(events_.told.size(), 1U);
}

TEST_F(ShareEventsTest, WhoHasNoNameIsNotTold) {
    use("a", 1, "");
    events_of_shares_.look();
    EXPECT_TRUE(events_.told.empty());
}

}  // namespace
}  // namespace tessera
