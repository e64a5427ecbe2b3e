// Goal: each request is answered once, by one write, and two pods never have the same memory,
// whatever gets lost. Method: a GPU of 16 GiB, an API server that keeps versions, and a watch that
// shows its state when the test says so.
#include "app/scheduler/resize/resizer.hpp"

#include <gtest/gtest.h>

#include "testing/builders/builders.hpp"
#include "testing/fakes/fake_clock.hpp"
#include "testing/fakes/fake_pod_events.hpp"
#include "testing/fakes/fake_pod_resizes.hpp"

namespace tessera {
namespace {

using namespace std::chrono_literals;

class ResizerTest : public ::testing::Test {
  protected:
    ResizerTest() {
        tell([](ClusterState& state) { state.set_node(build::node("n1", 1, gibibytes(16))); });
    }
    void tell(const ClusterCache::Change& change) {
        cache_.post(change);
        cache_.apply();
    }
    PodInfo runs(const std::string& name, int gib) {
        PodInfo pod = build::pod(name, build::native(gibibytes(gib)));
        const GpuShare share{.uuid = GpuUuid("GPU-n1-0"), .memory = gibibytes(gib)};
        pod = build::bound(pod, build::allocation(pod, "n1", {share}));
        pod.is_guarded = true;
        pods_.put(pod);
        show(pod);
        return pod;
    }
    // The watch shows the pod's current state.
    void show(const PodInfo& pod) {
        tell([now = pods_.shown(pod.name)](ClusterState& state) { state.set_pod(now); });
    }
    void request(const PodInfo& pod, int gib) {
        pods_.set_resize_request(pod.name,
                                 write_resize_request({{{"main", gibibytes(gib), {}, {}}}}, "id"));
        show(pod);
    }
    void round(std::chrono::nanoseconds later = 31s) {
        resizer_.run_round();
        clock_.advance(later);
    }
    std::int64_t allocated() {
        tell([](ClusterState&) {});
        return cache_.snapshot()->find("n1")->gpus[0].allocated.count / kGiB;
    }
    bool fits(int gib) {
        const PodInfo pod = build::pod("other", build::native(gibibytes(gib)));
        return cache_.call([&](ClusterState& state) {
            const auto reserved = state.reserve(build::request(pod), NodeName("n1"));
            if (reserved) state.release(reserved->attempt);
            return reserved.has_value();
        });
    }
    std::int64_t has(const PodInfo& pod) {
        const auto shown = pods_.shown(pod.name);
        return (**shown.allocation).containers[0].gpus[0].memory.count / kGiB;
    }
    std::size_t writes() { return pods_.writes().size(); }
    // "REASON: MESSAGE", in order.
    std::vector<std::string> reported() {
        std::vector<std::string> out;
        for (const PodEvent& event : events_.reported)
            out.push_back(event.reason + ": " + event.message);
        return out;
    }

    FakePodResizes pods_;
    FakePodEvents events_;
    FakeClock clock_;
    ClusterCache cache_{[] {}};
    SchedulerMetrics metrics_{clock_};
    bool leads_ = true;
    Resizer resizer_{{pods_, events_, cache_, metrics_, clock_, nullptr,
                      WriteFence([this](std::chrono::nanoseconds) { return leads_; })}};
};

TEST_F(ResizerTest, GrantsOnceAndSaysSo) {
    const PodInfo pod = runs("p", 4);
    round();
    EXPECT_EQ(pods_.reads(), 0) << "there is no request";
    request(pod, 10);
    round();
    ASSERT_EQ(writes(), 1U);
    EXPECT_EQ(has(pod), 10);
    EXPECT_NE(pods_.writes()[0].at("tessera.dev/allocation").find(R"("revision":1)"),
              std::string::npos);
    EXPECT_FALSE(pods_.writes()[0].contains("tessera.dev/enforced-by"))
        << "its enforcers stay those with which it started";
    round();
    EXPECT_EQ(writes(), 1U) << "the watch is behind";
    EXPECT_EQ(allocated(), 10);
    show(pod);
    round();
    const int reads = pods_.reads();
    round();
    EXPECT_EQ(pods_.reads(), reads) << "the request is answered";
    EXPECT_EQ(reported(), (std::vector<std::string>{"Resized: main on GPU 0: memory 4Gi -> 10Gi"}));
    request(pod, 3);
    round();
    EXPECT_EQ(allocated(), 10) << "memory is freed once the watch shows the write";
    show(pod);
    EXPECT_EQ(allocated(), 3);
}

TEST_F(ResizerTest, RefusesOnceAndSaysWhy) {
    const PodInfo pod = runs("p", 4);
    runs("q", 8);
    request(pod, 10);
    round();
    ASSERT_EQ(writes(), 1U);
    EXPECT_EQ(read_resize_refusal(pods_.refusal(pod.name)).code, Code::unavailable);
    round();
    show(pod);
    round();
    EXPECT_EQ(writes(), 1U) << "not again until the request changes";
    EXPECT_EQ(reported(),
              (std::vector<std::string>{"ResizeRefused: no room on GPU 0: the pod would hold 10Gi "
                                        "of it, and beside the others it can have 8Gi"}));
    request(pod, 8);
    round();
    EXPECT_EQ(has(pod), 8);
    EXPECT_EQ(pods_.refusal(pod.name), "") << "the old refusal is gone";
    pods_.set_resize_request(pod.name, "nonsense");
    show(pod);
    round();
    EXPECT_EQ(read_resize_refusal(pods_.refusal(pod.name)).code, Code::invalid_argument);
    EXPECT_NE(metrics_.expose({.snapshot = *cache_.snapshot(), .waiting = {}})
                  .find("tessera_resizes_total{outcome=\"refused\"} 2"),
              std::string::npos);
}

// A bind requests the memory while the resize is being written, and the other way round.
TEST_F(ResizerTest, ABindAndAResizeNeverHaveTheSameRoom) {
    const PodInfo pod = runs("p", 4);
    request(pod, 10);
    bool was_free = true;
    pods_.on_write([&] { was_free = fits(7); });
    round();
    EXPECT_FALSE(was_free);
    EXPECT_EQ(has(pod), 10);
    show(pod);
    const PodInfo other = build::pod("other", build::native(gibibytes(6)));
    cache_.call([&](ClusterState& state) {
        return state.reserve(build::request(other), NodeName("n1")).has_value();
    });
    request(pod, 11);
    round();
    EXPECT_EQ(has(pod), 10);
}

TEST_F(ResizerTest, ALostAnswerOfAWriteThatHappened) {
    const PodInfo pod = runs("p", 4);
    request(pod, 10);
    pods_.lose_answer_after_write();
    round();
    EXPECT_EQ(allocated(), 10);
    round();
    EXPECT_EQ(writes(), 1U) << "the write has happened";
    EXPECT_EQ(allocated(), 10);
    show(pod);
    round();
    EXPECT_EQ(allocated(), 10);
    EXPECT_EQ(writes(), 1U);
}

TEST_F(ResizerTest, ALostAnswerOfAWriteThatMayStillHappen) {
    const PodInfo pod = runs("p", 4);
    request(pod, 10);
    pods_.lose_answer_before_write();
    round();
    EXPECT_FALSE(fits(7)) << "the write may still happen";
    pods_.fail_next_read({Code::unavailable, "no answer"});
    round();
    EXPECT_FALSE(fits(7));
    round();
    EXPECT_EQ(writes(), 2U) << "the same, on the same version";
    EXPECT_EQ(has(pod), 10);
    pods_.land();
    EXPECT_EQ((**pods_.shown(pod.name).allocation).revision, 1) << "only one of the writes happens";
}

TEST_F(ResizerTest, ALostAnswerOfAWriteThatCannotHappenAnyMore) {
    const PodInfo pod = runs("p", 4);
    request(pod, 10);
    pods_.lose_answer_before_write();
    round();
    request(pod, 5);
    EXPECT_FALSE(fits(7));
    round();
    EXPECT_EQ(has(pod), 5);
    EXPECT_TRUE(fits(7));
    pods_.land();
    EXPECT_EQ(has(pod), 5);
}

TEST_F(ResizerTest, ARequestThatIsWithdrawnLeavesNothing) {
    const PodInfo pod = runs("p", 4);
    request(pod, 10);
    pods_.lose_answer_before_write();
    round();
    pods_.set_resize_request(pod.name, "");
    show(pod);
    round();
    EXPECT_EQ(allocated(), 4);
    const int reads = pods_.reads();
    round();
    EXPECT_EQ(pods_.reads(), reads);
}

TEST_F(ResizerTest, AWriteThatMeetsAnotherIsDecidedAnew) {
    const PodInfo pod = runs("p", 4);
    request(pod, 10);
    pods_.on_write([&] { pods_.touch(pod.name); });
    round();
    EXPECT_EQ(has(pod), 4);
    round();
    EXPECT_EQ(has(pod), 10);
}

// A write that is certainly refused reserves nothing, unless an earlier one may still happen.
TEST_F(ResizerTest, AWriteThatIsRefused) {
    const PodInfo pod = runs("p", 4);
    request(pod, 10);
    pods_.fail_next_write({Code::permission_denied, "no right"});
    round();
    EXPECT_EQ(allocated(), 4);
    pods_.lose_answer_before_write();
    round();
    EXPECT_EQ(allocated(), 10);
    pods_.fail_next_write({Code::permission_denied, "no right"});
    round();
    EXPECT_EQ(allocated(), 10) << "the earlier write may happen";
    pods_.land();
    round();
    show(pod);
    EXPECT_EQ(has(pod), 10);
}

TEST_F(ResizerTest, WhoDoesNotLeadAnswersNothing) {
    const PodInfo pod = runs("p", 4);
    request(pod, 10);
    leads_ = false;
    round();
    EXPECT_EQ(pods_.reads(), 0);
    EXPECT_EQ(allocated(), 4);
}

// The fence closes between the decision and the write.
TEST_F(ResizerTest, WhoLeadsNoMoreWritesNothingAndHoldsNothing) {
    const PodInfo pod = runs("p", 4);
    request(pod, 10);
    int asked = 0;
    Resizer resizer({pods_, events_, cache_, metrics_, clock_, nullptr,
                     WriteFence([&](std::chrono::nanoseconds) { return ++asked == 1; })});
    resizer.run_round();
    EXPECT_EQ(writes(), 0U);
    EXPECT_EQ(allocated(), 4);
}

// The next leader knows nothing of the first one's work, and finds the request or its result.
TEST_F(ResizerTest, TheNextLeaderGoesOn) {
    const PodInfo granted = runs("p", 4);
    const PodInfo open = runs("q", 4);
    request(granted, 5);
    request(open, 6);
    pods_.lose_answer_after_write();
    resizer_.run_round();
    ClusterCache cache([] {});
    cache.post([this, &granted, &open](ClusterState& state) {
        state.set_node(build::node("n1", 1, gibibytes(16)));
        state.set_pod(pods_.shown(granted.name));
        state.set_pod(pods_.shown(open.name));
    });
    Resizer next({pods_, events_, cache, metrics_, clock_, nullptr, {}});
    const std::size_t before = writes();
    next.run_round();
    EXPECT_EQ(has(granted), 5);
    EXPECT_EQ(has(open), 6);
    EXPECT_EQ(writes(), before) << "the first leader wrote both";
}

TEST_F(ResizerTest, APodThatIsGoneIsForgotten) {
    const PodInfo pod = runs("p", 4);
    request(pod, 10);
    pods_.lose_answer_before_write();
    round();
    pods_.remove(pod.name);
    tell([&](ClusterState& state) { state.remove_pod(pod.uid); });
    round();
    const int reads = pods_.reads();
    round();
    EXPECT_EQ(pods_.reads(), reads);
    EXPECT_EQ(allocated(), 0);
}

TEST_F(ResizerTest, ANamesakeIsNotMistaken) {
    const PodInfo pod = runs("p", 4);
    request(pod, 10);
    PodInfo namesake = pod;
    namesake.uid = PodUid("another");
    pods_.put(namesake);
    pods_.set_resize_request(pod.name,
                             write_resize_request({{{"main", gibibytes(10), {}, {}}}}, "id"));
    round();
    EXPECT_EQ(writes(), 0U);
}

TEST_F(ResizerTest, WhatFailsIsTriedAgainMoreAndMoreSeldom) {
    const PodInfo pod = runs("p", 4);
    request(pod, 10);
    int reads = 0;
    for (int i = 0; i < 240; ++i) {
        pods_.fail_next_read({Code::unavailable, "no answer"});
        round(250ms);
        reads = pods_.reads();
    }
    EXPECT_GT(reads, 4);
    EXPECT_LT(reads, 12) << "in one minute";
}

}  // namespace
}  // namespace tessera
