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
};

TEST_F(LimitEventsTest, TellsOnceOfEachContainerThatWasRefused) {
    use("at-limit", 2);
    use("below", 0);
    tell_of_limits(shares_, events_);
    tell_of_limits(shares_, events_);
    ASSERT_EQ(events_.told.size(), 1U);
    EXPECT_EQ(events_.told[0].pod, PodUid("at-limit"));
    EXPECT_EQ(events_.told[0].type, PodEventType::warning);
    EXPECT_EQ(events_.told[0].message,
              "Container main has reached its limit of 3Gi on GPU-a: it was refused memory (CUDA "
              "says out of memory), and holds 1Gi. A larger share is asked for in the pod's spec");
}

TEST_F(LimitEventsTest, TriesAgainWhatCouldNotBeTold) {
    use("a", 1);
    use("b", 1);
    events_.next_error = {Code::unavailable, "away"};
    tell_of_limits(shares_, events_);
    EXPECT_TRUE(events_.told.empty());
    tell_of_limits(shares_, events_);
    EXPECT_EQ(events_.told.size(), 2U);
}

TEST_F(LimitEventsTest, ANamespaceThatIsGoneIsNotToldAgain) {
    use("a", 1);
    use("b", 1);
    events_.next_error = {Code::not_found, "no namespace"};
    tell_of_limits(shares_, events_);
    tell_of_limits(shares_, events_);
    EXPECT_EQ(events_.told.size(), 1U);
}

TEST_F(LimitEventsTest, WhoHasNoNameIsNotTold) {
    use("a", 1, "");
    tell_of_limits(shares_, events_);
    EXPECT_TRUE(events_.told.empty());
}

}  // namespace
}  // namespace tessera
