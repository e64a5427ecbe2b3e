#include "app/scheduler/observe/unknown_annotation_reporter.hpp"

#include <gtest/gtest.h>

#include "testing/builders/builders.hpp"
#include "testing/fakes/fake_clock.hpp"
#include "testing/fakes/fake_pod_events.hpp"

namespace tessera {
namespace {

class UnknownAnnotationReporterTest : public ::testing::Test {
  protected:
    void tell(const ClusterCache::Change& change) {
        cache_.post(change);
        cache_.apply();
    }
    void show(const PodInfo& pod) {
        tell([pod](ClusterState& state) { state.set_pod(pod); });
    }
    static PodInfo slipped(const std::string& name, const std::string& unknown_annotation) {
        PodInfo pod = build::pod(name, build::native(gibibytes(1)));
        pod.unknown_annotations = {unknown_annotation};
        return pod;
    }
    std::vector<std::string> reported() const {
        std::vector<std::string> out;
        for (const PodEvent& event : events_.reported)
            out.push_back(event.name.name + ": " + event.message);
        return out;
    }

    ClusterCache cache_{[] {}};
    FakeClock clock_;
    FakePodEvents events_;
    bool leads_ = true;
    UnknownAnnotationReporter teller_{
        {events_, cache_, WriteFence([this](auto) { return leads_; })}};
};

// Goal: one warning for each pod with an unknown annotation, however often it is shown, and another
// when its unknown annotations change. None for other pods.
TEST_F(UnknownAnnotationReporterTest, TellsOnce) {
    PodInfo pod = slipped("a", "one");
    show(pod);
    show(build::pod("good", build::native(gibibytes(1))));
    teller_.run_round();
    show(pod);
    teller_.run_round();
    ASSERT_EQ(reported(), (std::vector<std::string>{"a: one"}));
    EXPECT_EQ(events_.reported[0].pod, pod.uid);
    EXPECT_EQ(events_.reported[0].type, PodEventType::warning);
    EXPECT_EQ(events_.reported[0].reason, "UnknownAnnotation");
    pod.unknown_annotations = {"two", "three"};
    show(pod);
    teller_.run_round();
    EXPECT_EQ(reported().back(), "a: two; three");
}

// Goal: a pod that is placed before the next round is reported; one that ran already is not.
TEST_F(UnknownAnnotationReporterTest, TellsWhoWasPlacedSince) {
    PodInfo quick = slipped("quick", "one");
    show(quick);
    quick.node = NodeName("n1");
    show(quick);
    PodInfo runs = slipped("runs", "one");
    runs.node = NodeName("n1");
    show(runs);
    teller_.run_round();
    EXPECT_EQ(reported(), (std::vector<std::string>{"quick: one"}));
}

// Goal: no event for a pod that is gone, or whose annotation was corrected before.
TEST_F(UnknownAnnotationReporterTest, ForgetsWhoIsGone) {
    for (const char* name : {"deleted", "left out", "corrected"})
        show(slipped(name, "one"));
    tell([](ClusterState& state) { state.remove_pod(PodUid("uid-deleted")); });
    tell([](ClusterState& state) { state.keep_only_pods({PodUid("uid-corrected")}); });
    show(build::pod("corrected", build::native(gibibytes(1))));
    teller_.run_round();
    EXPECT_TRUE(reported().empty());
}

// Goal: only the leader reports. An event that could not be created is created later, unless it
// never can be.
TEST_F(UnknownAnnotationReporterTest, TriesAgain) {
    show(slipped("a", "one"));
    leads_ = false;
    teller_.run_round();
    EXPECT_TRUE(reported().empty());
    leads_ = true;
    events_.next_error = Error{Code::unavailable, "away"};
    teller_.run_round();
    teller_.run_round();
    EXPECT_EQ(reported(), (std::vector<std::string>{"a: one"}));
    show(slipped("b", "one"));
    events_.next_error = Error{Code::not_found, "namespace is gone"};
    teller_.run_round();
    teller_.run_round();
    EXPECT_EQ(reported().size(), 1U);
}

}  // namespace
}  // namespace tessera
