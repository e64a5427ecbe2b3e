#include "app/scheduler/slip_teller.hpp"

#include <gtest/gtest.h>

#include "testing/builders/builders.hpp"
#include "testing/fakes/fake_clock.hpp"
#include "testing/fakes/fake_pod_events.hpp"

namespace tessera {
namespace {

class SlipTellerTest : public ::testing::Test {
  protected:
    void tell(const Keeper::Change& change) {
        keeper_.post(change);
        keeper_.apply();
    }
    void show(const PodFacts& pod) {
        tell([pod](ClusterState& state) { state.set_pod(pod); });
    }
    static PodFacts slipped(const std::string& name, const std::string& slip) {
        PodFacts pod = build::pod(name, build::native(gibibytes(1)));
        pod.slips = {slip};
        return pod;
    }
    std::vector<std::string> told() const {
        std::vector<std::string> out;
        for (const PodEvent& event : events_.told)
            out.push_back(event.name.name + ": " + event.message);
        return out;
    }

    Keeper keeper_{[] {}};
    FakeClock clock_;
    FakePodEvents events_;
    bool leads_ = true;
    SlipTeller teller_{{events_, keeper_, clock_, [this](auto) { return leads_; }}};
};

// Goal: one warning for each pod that slipped, however often it is shown, and another when it slips
// anew; none for those that did not.
TEST_F(SlipTellerTest, TellsOnce) {
    PodFacts pod = slipped("a", "one");
    show(pod);
    show(build::pod("good", build::native(gibibytes(1))));
    teller_.run_round();
    show(pod);
    teller_.run_round();
    ASSERT_EQ(told(), (std::vector<std::string>{"a: one"}));
    EXPECT_EQ(events_.told[0].pod, pod.uid);
    EXPECT_EQ(events_.told[0].type, PodEventType::warning);
    EXPECT_EQ(events_.told[0].reason, "UnknownAnnotation");
    pod.slips = {"two", "three"};
    show(pod);
    teller_.run_round();
    EXPECT_EQ(told().back(), "a: two; three");
}

// Goal: a pod that is placed before the next round is told; one that ran already is not.
TEST_F(SlipTellerTest, TellsWhoWasPlacedSince) {
    PodFacts quick = slipped("quick", "one");
    show(quick);
    quick.node = NodeName("n1");
    show(quick);
    PodFacts runs = slipped("runs", "one");
    runs.node = NodeName("n1");
    show(runs);
    teller_.run_round();
    EXPECT_EQ(told(), (std::vector<std::string>{"quick: one"}));
}

// Goal: nobody hears of a pod that is gone, or whose slip was mended before.
TEST_F(SlipTellerTest, ForgetsWhoIsGone) {
    for (const char* name : {"deleted", "left out", "mended"})
        show(slipped(name, "one"));
    tell([](ClusterState& state) { state.remove_pod(PodUid("uid-deleted")); });
    tell([](ClusterState& state) { state.keep_only_pods({PodUid("uid-mended")}); });
    show(build::pod("mended", build::native(gibibytes(1))));
    teller_.run_round();
    EXPECT_TRUE(told().empty());
}

// Goal: the leader alone tells; what could not be told is told later, unless it never can be.
TEST_F(SlipTellerTest, TriesAgain) {
    show(slipped("a", "one"));
    leads_ = false;
    teller_.run_round();
    EXPECT_TRUE(told().empty());
    leads_ = true;
    events_.next_error = Error{Code::unavailable, "away"};
    teller_.run_round();
    teller_.run_round();
    EXPECT_EQ(told(), (std::vector<std::string>{"a: one"}));
    show(slipped("b", "one"));
    events_.next_error = Error{Code::not_found, "namespace is gone"};
    teller_.run_round();
    teller_.run_round();
    EXPECT_EQ(told().size(), 1U);
}

}  // namespace
}  // namespace tessera
