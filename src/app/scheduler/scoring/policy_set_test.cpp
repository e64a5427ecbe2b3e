#include "app/scheduler/scoring/policy_set.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stop_token>

#include "app/scheduler/scoring/learning_pace.hpp"
#include "testing/builders/builders.hpp"
#include "testing/fakes/fake_clock.hpp"

namespace tessera {
namespace {

class PolicySetTest : public testing::Test {
  protected:
    PolicySetTest() {
        for (int i = 0; i < 4; ++i)
            state_.set_node(build::node(fmt::format("n{}", i), 2, gibibytes(16)));
    }

    Arrivals arrivals(int count, int gib) {
        for (int i = 0; i < count; ++i)
            state_.set_pod(build::pod(fmt::format("p{}", pods_++), build::native(gibibytes(gib))));
        return state_.take_arrivals();
    }
    std::shared_ptr<const NodeScorer> scorer(const std::string& policy = {}) {
        PodInfo pod = build::pod("asks", build::whole());
        pod.policy = policy;
        return policies_.scorer_of(build::request(pod));
    }

    ClusterState state_;
    PolicySet policies_{"expected-fill"};
    int pods_ = 0;
};

// Goal: a pod is placed by the policy that it names, other pods by the controller's; binpack is the
// placer's own.
TEST_F(PolicySetTest, ByThePodOrByTheCluster) {
    EXPECT_NE(scorer(), nullptr);
    EXPECT_EQ(scorer(), scorer("expected-fill"));
    EXPECT_NE(scorer("fgd"), scorer());
    EXPECT_EQ(scorer("binpack"), nullptr);
    EXPECT_EQ(PolicySet("binpack").scorer_of(build::request(build::pod("p", build::whole()))),
              nullptr);
}

// Goal: a policy that has learnt something new replaces the one before, and only then.
TEST_F(PolicySetTest, LearnsFromArrivals) {
    const auto first = scorer();
    const auto first_fgd = scorer("fgd");
    policies_.learn(arrivals(4, 4), *state_.snapshot());
    EXPECT_EQ(scorer(), first);
    policies_.learn(arrivals(1, 4), *state_.snapshot());
    EXPECT_NE(scorer(), first);
    EXPECT_NE(scorer("fgd"), first_fgd);
    const auto second = scorer();
    policies_.learn(arrivals(0, 4), *state_.snapshot());
    EXPECT_EQ(scorer(), second);
    EXPECT_EQ(scorer("spread"), scorer("spread"));
}

// Goal: pods that arrive before the nodes are known are learnt later, once the nodes are known. A
// controller that starts reads both at the same time, and only the nodes show what part of a GPU a
// pod requests.
TEST_F(PolicySetTest, LearnsNothingBeforeAllIsKnown) {
    ClusterCache cache([] {});
    FakeClock clock;
    std::atomic<bool> synced = false;
    std::stop_source stop;
    const auto before = scorer();
    cache.post([](ClusterState& state) {
        for (int i = 0; i < 5; ++i)
            state.set_pod(build::pod(fmt::format("p{}", i), build::native(gibibytes(4))));
    });
    clock.on_sleep([&] {
        if (synced) stop.request_stop();
        cache.post(
            [](ClusterState& state) { state.set_node(build::node("n0", 2, gibibytes(16))); });
        cache.apply();
        synced = true;
    });
    policies_.learn(cache, clock, synced, stop.get_token());
    EXPECT_EQ(clock.sleeps(), 2);
    EXPECT_NE(scorer(), before);
}

// Goal: new work is done without a pause. If it never ends, half of a core is enough, until all is
// done.
TEST(LearningPace, RestsWhereThereIsNoEnd) {
    using std::chrono::milliseconds;
    using Left = LearningPace::Left;
    LearningPace pace;
    EXPECT_EQ(pace.rest_after(milliseconds(1), Left::nothing), LearningPace::kPeriod);
    const auto work = [&] {
        int steps = 0;
        while (pace.rest_after(milliseconds(250), Left::what_came_since) == milliseconds(0))
            ++steps;
        return steps;
    };
    EXPECT_EQ(work(), 4 * LearningPace::kAtOnce.count() - 1);
    EXPECT_EQ(pace.rest_after(milliseconds(250), Left::what_came_since), milliseconds(250));
    EXPECT_EQ(pace.rest_after(std::chrono::nanoseconds(0), Left::what_came_since), milliseconds(1));
    EXPECT_EQ(pace.rest_after(milliseconds(250), Left::nothing), LearningPace::kPeriod);
    EXPECT_EQ(work(), 4 * LearningPace::kAtOnce.count() - 1);
}

// Goal: what a controller finds when it starts is processed without a rest, however long it takes,
// and does not count towards later overload.
TEST(LearningPace, DoesNotRestWhileItIsRebuilt) {
    using Left = LearningPace::Left;
    constexpr std::chrono::seconds kStep{10};
    LearningPace pace;
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(pace.rest_after(kStep, Left::what_was_there_at_start).count(), 0);
    EXPECT_EQ(pace.rest_after(kStep, Left::what_came_since).count(), 0);
    EXPECT_EQ(pace.rest_after(kStep, Left::what_came_since).count(), 0);
    EXPECT_EQ(pace.rest_after(kStep, Left::what_came_since), kStep);
}

// Goal: the learning thread knows when what was there at the start is done. Long work has rests
// after that, and none before. Method: a clock in which a look takes ten seconds.
TEST_F(PolicySetTest, RestsOnceItIsRebuilt) {
    class SlowClock final : public Clock {
      public:
        [[nodiscard]] std::int64_t unix_ns() const override { return 0; }
        [[nodiscard]] std::chrono::nanoseconds steady() const override {
            return now_ += std::chrono::seconds(10);
        }
        void sleep_for(std::chrono::milliseconds duration) override { sleeps.push_back(duration); }
        void sleep_for(std::chrono::milliseconds duration, const std::stop_token&) override {
            sleeps.push_back(duration);
            on_sleep();
        }
        std::vector<std::chrono::milliseconds> sleeps;
        std::function<void()> on_sleep;

      private:
        mutable std::chrono::nanoseconds now_{};
    };
    ClusterCache cache([] {});
    std::stop_source stop;
    SlowClock clock;
    // More kinds and nodes than one step scores, twice: at the start, and after a request.
    cache.post([](ClusterState& state) {
        for (int i = 0; i < 3'000; ++i)
            state.set_node(
                build::node("n" + std::to_string(i), 1, gibibytes(16) + Bytes{i * kMiB}));
        for (int i = 0; i < 12; ++i)
            state.set_pod(build::pod("p" + std::to_string(i), build::native(gibibytes(1 + i))));
    });
    cache.apply();
    const std::atomic<bool> synced = true;
    clock.on_sleep = [&] {
        if (clock.sleeps.size() > 1) {
            stop.request_stop();
            return;
        }
        // All nodes change.
        cache.post([](ClusterState& state) {
            for (int i = 0; i < 3'000; ++i) {
                state.set_node(
                    build::node("n" + std::to_string(i), 1, gibibytes(8) + Bytes{i * kMiB}));
            }
        });
        cache.apply();
    };
    policies_.learn(cache, clock, synced, stop.get_token());
    ASSERT_EQ(clock.sleeps.size(), 2U);
    EXPECT_EQ(clock.sleeps[0], LearningPace::kPeriod) << "no rest until all was done";
    EXPECT_EQ(clock.sleeps[1], std::chrono::seconds(10))
        << "after a step that did not finish the work";
}

// Goal: a request during learning does not destroy the scores that it used; the learner does.
TEST_F(PolicySetTest, WhoAsksEndsNothing) {
    auto asked = scorer();
    const std::weak_ptr<const NodeScorer> before = asked;
    policies_.learn(arrivals(5, 4), *state_.snapshot());
    ASSERT_NE(scorer(), asked);
    asked.reset();
    EXPECT_FALSE(before.expired());
    policies_.learn(arrivals(5, 4), *state_.snapshot());
    EXPECT_TRUE(before.expired());
}

// Goal: what is learnt decides. If only whole GPUs are requested, half a GPU goes beside another
// half. FGD knows nothing before it has seen a pod, and then does the same.
TEST_F(PolicySetTest, WhatIsLearntDecides) {
    const PodInfo half = build::pod("half", build::native(gibibytes(8)));
    const auto made = state_.reserve(build::request(half), NodeName("n2"));
    ASSERT_TRUE(made);
    state_.set_pod(build::bound(half, made->allocation));
    policies_.learn(arrivals(50, 16), *state_.snapshot());
    const auto snapshot = state_.snapshot();
    std::vector<std::uint32_t> positions;
    for (int i = 0; i < 4; ++i)
        positions.push_back(snapshot->position(fmt::format("n{}", i)));
    const PodRequest other = build::request(build::pod("other", build::native(gibibytes(8))));
    for (const auto* policy : {"fgd", "expected-fill"}) {
        const auto scored = scorer(policy)->score(*snapshot, positions, other);
        EXPECT_EQ(std::ranges::max_element(scored) - scored.begin(), 2) << policy;
        const auto assignment =
            scorer(policy)->choose(*snapshot->find("n2"), snapshot->find("n2")->node_gpus(), other);
        ASSERT_TRUE(assignment) << policy;
        EXPECT_EQ(assignment->gpus, std::vector<int>{made->allocation.containers[0].gpus[0].index});
    }
}

// Goal: models that many pods request are left for them: a pod that accepts any model goes
// elsewhere.
TEST_F(PolicySetTest, LearnsWhichModelsAreAskedFor) {
    for (int i = 0; i < 4; ++i) {
        NodeInventory node = build::node(fmt::format("n{}", i), 2, gibibytes(16));
        for (Gpu& gpu : node.gpus)
            gpu.model = i < 2 ? "NVIDIA A100" : "Tesla T4";
        state_.set_node(node);
    }
    for (int i = 0; i < 60; ++i) {
        PodInfo pod = build::pod(fmt::format("p{}", i), build::native(gibibytes(8)));
        pod.gpu_rules.models = i % 3 == 0 ? "" : "A100";
        state_.set_pod(pod);
    }
    policies_.learn(state_.take_arrivals(), *state_.snapshot());
    const auto snapshot = state_.snapshot();
    const std::vector positions{snapshot->position("n0"), snapshot->position("n3")};
    const PodRequest any = build::request(build::pod("any", build::native(gibibytes(8))));
    const auto scored = scorer("expected-fill")->score(*snapshot, positions, any);
    EXPECT_LT(scored[0], scored[1]);
    PodInfo wants = build::pod("wants", build::native(gibibytes(8)));
    wants.gpu_rules.models = "A100";
    const auto with_known_mix = scorer("fgd")->score(*snapshot, positions, build::request(wants));
    EXPECT_GT(with_known_mix[0], NodeScorer::kLast);
    EXPECT_EQ(with_known_mix[1], NodeScorer::kLast);
}

// Goal: a controller that starts in a running cluster learns from its pods, the oldest first, in
// whatever order it received them.
TEST_F(PolicySetTest, TheOldestComeFirst) {
    const auto mixed = [&](bool is_turned) {
        PolicySet policies("expected-fill");
        ClusterState state;
        state.set_node(build::node("n0", 8, gibibytes(16)));
        std::vector<PodInfo> pods;
        for (int i = 0; i < 40; ++i) {
            pods.push_back(
                build::pod(fmt::format("p{}", i), build::native(gibibytes(i < 20 ? 2 : 14))));
            pods.back().created = fmt::format("2026-11-23T10:00:{:02}Z", i);
        }
        if (is_turned) std::ranges::reverse(pods);
        for (const PodInfo& pod : pods)
            state.set_pod(pod);
        policies.learn(state.take_arrivals(), *state.snapshot());
        const auto snapshot = state.snapshot();
        std::vector<std::int64_t> out;
        for (int gib = 1; gib <= 16; ++gib) {
            const std::uint32_t position = snapshot->position("n0");
            const PodRequest pod =
                build::request(build::pod("asks", build::native(gibibytes(gib))));
            out.push_back(policies.scorer_of(pod)->score(*snapshot, {&position, 1}, pod)[0]);
        }
        return out;
    };
    EXPECT_EQ(mixed(false), mixed(true));
}

}  // namespace
}  // namespace tessera
