#include "app/agent/enforcement/share_events.hpp"

#include <gtest/gtest.h>

#include "testing/fakes/fake_pod_events.hpp"
#include "testing/fakes/fake_shares.hpp"

namespace tessera {
namespace {

class ShareEventsTest : public testing::Test {
  protected:
    void use(const char* pod, std::int64_t refusals, const char* name = "p") {
        shares_.used.push_back({.pod = PodUid(pod),
                                .name = {"space", name},
                                .container = "main",
                                .gpu = GpuUuid("GPU-a"),
                                .used = Bytes{kGiB},
                                .limit = Bytes{3 * kGiB},
                                .refusals = refusals});
    }

    FakeShareMeter shares_;
    FakeReportedLimits reported_;
    FakePodEvents events_;
    ShareEvents events_of_shares_{shares_, reported_, events_};
};

TEST_F(ShareEventsTest, TellsOnceOfEachContainerThatWasRefused) {
    use("at-limit", 2);
    use("below", 0);
    events_of_shares_.look();
    events_of_shares_.look();
    ASSERT_EQ(events_.reported.size(), 1U);
    EXPECT_EQ(events_.reported[0].pod, PodUid("at-limit"));
    EXPECT_EQ(events_.reported[0].type, PodEventType::warning);
    EXPECT_EQ(events_.reported[0].message,
              "Container main was refused memory (CUDA says out of memory): it asked for more than "
              "was left of its limit on GPU-a, which is 3Gi. To request more, run: tessera "
              "resize POD --memory SIZE");
}

TEST_F(ShareEventsTest, TriesAgainWhatCouldNotBeTold) {
    use("a", 1);
    use("b", 1);
    events_.next_error = {Code::unavailable, "away"};
    events_of_shares_.look();
    EXPECT_TRUE(events_.reported.empty());
    events_of_shares_.look();
    EXPECT_EQ(events_.reported.size(), 2U);
}

// Goal: if the event of one pod is refused, the other pods still get theirs, and it is not tried
// again.
TEST_F(ShareEventsTest, WhatIsRefusedIsLeft) {
    for (const Code refusal : {Code::not_found, Code::permission_denied}) {
        use("a-refused", 1);
        use("b", 1);
        events_.next_error = {refusal, "no"};
        ShareEvents events(shares_, reported_, events_);
        events.look();
        events.look();
        ASSERT_EQ(events_.reported.size(), 1U);
        EXPECT_EQ(events_.reported[0].pod, PodUid("b"));
        EXPECT_FALSE(reported_.reported(shares_.used[0])) << "the next agent tries again";
        events_.reported.clear();
        reported_.noted.clear();
        shares_.used.clear();
    }
}

// Goal: a full disk does not cause repeated events.
TEST_F(ShareEventsTest, TellsOnceThoughItCannotBeNoted) {
    use("a", 1);
    events_of_shares_.look();
    reported_.noted.clear();
    events_of_shares_.look();
    EXPECT_EQ(events_.reported.size(), 1U);
}

// Goal: refusals by the earlier limit cause no event for the new limit, and the first refusal by
// the new one does. The same holds if the limit changes while the event is being sent, and if the
// refusals are counted from zero again.
TEST_F(ShareEventsTest, TellsAgainAfterAChange) {
    use("a", 2);
    events_of_shares_.look();
    shares_.used[0].limit = Bytes{4 * kGiB};
    shares_.used[0].refusals = 3;
    events_of_shares_.look();
    events_of_shares_.look();
    EXPECT_EQ(events_.reported.size(), 1U);
    shares_.used[0].refusals = 1;
    events_of_shares_.look();
    EXPECT_EQ(events_.reported.size(), 1U) << "the count starts again";
    shares_.used[0].refusals = 2;
    events_of_shares_.look();
    events_of_shares_.look();
    ASSERT_EQ(events_.reported.size(), 2U);
    EXPECT_NE(events_.reported[1].message.find("which is 4Gi."), std::string::npos);
}

// Goal: of several GPUs, the event names the one whose limit was reached.
TEST_F(ShareEventsTest, TellsOfEachGpu) {
    use("a", 100);
    events_of_shares_.look();
    use("a", 1);
    shares_.used[1].gpu = GpuUuid("GPU-b");
    events_of_shares_.look();
    ASSERT_EQ(events_.reported.size(), 2U);
    EXPECT_NE(events_.reported[1].message.find("GPU-b"), std::string::npos);
}

TEST_F(ShareEventsTest, TellsOnceOfDamagedAccounts) {
    use("a", 0);
    shares_.used[0].is_damaged = true;
    events_of_shares_.look();
    events_of_shares_.look();
    ASSERT_EQ(events_.reported.size(), 1U);
    EXPECT_EQ(events_.reported[0].reason, "GpuAccountsDamaged");
    shares_.used[0].is_damaged = false;
    events_of_shares_.look();
    shares_.used[0].is_damaged = true;
    events_of_shares_.look();
    EXPECT_EQ(events_.reported.size(), 2U) << "the container had started again in between";
}

// Goal: after a restart the agent does not repeat the event.
TEST_F(ShareEventsTest, DamageIsRememberedByTheNextAgent) {
    use("a", 0);
    shares_.used[0].is_damaged = true;
    events_of_shares_.look();
    ShareEvents(shares_, reported_, events_).look();
    EXPECT_EQ(events_.reported.size(), 1U);
}

// Goal: the user learns once that a program was refused the GPU, also beside refused memory, and
// the next agent repeats neither.
TEST_F(ShareEventsTest, TellsOnceOfARefusedContext) {
    use("a", 1);
    shares_.used[0].refused_contexts = 3;
    shares_.used[0].cores = {25};
    events_of_shares_.look();
    shares_.used[0].refused_contexts = 9;
    events_of_shares_.look();
    ShareEvents(shares_, reported_, events_).look();
    ASSERT_EQ(events_.reported.size(), 2U);
    EXPECT_EQ(events_.reported[0].reason, "GpuContextRefused");
    EXPECT_NE(events_.reported[0].message.find("GPU-a than the container's 25 percent"),
              std::string::npos);
    EXPECT_EQ(events_.reported[1].reason, "GpuMemoryLimit");
}

TEST_F(ShareEventsTest, WhoHasNoNameIsNotTold) {
    use("a", 1, "");
    events_of_shares_.look();
    EXPECT_TRUE(events_.reported.empty());
}

}  // namespace
}  // namespace tessera
