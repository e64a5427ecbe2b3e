#include "app/scheduler/placements.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stop_token>

#include "app/scheduler/learning_pace.hpp"
#include "testing/builders/builders.hpp"
#include "testing/fakes/fake_clock.hpp"

namespace tessera {
namespace {

class PlacementsTest : public testing::Test {
  protected:
    PlacementsTest() {
        for (int i = 0; i < 4; ++i)
            state_.set_node(build::node(fmt::format("n{}", i), 2, gibibytes(16)));
    }

    Arrivals arrivals(int count, int gib) {
        for (int i = 0; i < count; ++i)
            state_.set_pod(build::pod(fmt::format("p{}", pods_++), build::native(gibibytes(gib))));
        return state_.take_arrivals();
    }
    std::shared_ptr<const NodeRater> rater(const std::string& policy = {}) {
        PodFacts pod = build::pod("asks", build::whole());
        pod.policy = policy;
        return placements_.rater_of(build::ask(pod));
    }

    ClusterState state_;
    Placements placements_{"expected-fill"};
    int pods_ = 0;
};

// Goal: a pod is placed by the policy that it names, others by the controller's; binpack is the
// placer's own.
TEST_F(PlacementsTest, ByThePodOrByTheCluster) {
    EXPECT_NE(rater(), nullptr);
    EXPECT_EQ(rater(), rater("expected-fill"));
    EXPECT_NE(rater("fgd"), rater());
    EXPECT_EQ(rater("binpack"), nullptr);
    EXPECT_EQ(Placements("binpack").rater_of(build::ask(build::pod("p", build::whole()))), nullptr);
}

// Goal: a policy that has learnt something new is shown in the place of the one before, and only
// then.
TEST_F(PlacementsTest, LearnsFromArrivals) {
    const auto first = rater();
    const auto first_fgd = rater("fgd");
    placements_.learn(arrivals(4, 4), *state_.view());
    EXPECT_EQ(rater(), first);
    placements_.learn(arrivals(1, 4), *state_.view());
    EXPECT_NE(rater(), first);
    EXPECT_NE(rater("fgd"), first_fgd);
    const auto second = rater();
    placements_.learn(arrivals(0, 4), *state_.view());
    EXPECT_EQ(rater(), second);
    EXPECT_EQ(rater("spread"), rater("spread"));
}

// Goal: pods that are told before the nodes are known are learnt once these are. A controller that
// starts reads both at a time, and what part of a card a pod asks for only the nodes tell.
TEST_F(PlacementsTest, LearnsNothingBeforeAllIsKnown) {
    Keeper keeper([] {});
    FakeClock clock;
    std::atomic<bool> synced = false;
    std::stop_source stop;
    const auto before = rater();
    keeper.post([](ClusterState& state) {
        for (int i = 0; i < 5; ++i)
            state.set_pod(build::pod(fmt::format("p{}", i), build::native(gibibytes(4))));
    });
    clock.on_sleep([&] {
        if (synced) stop.request_stop();
        keeper.post(
            [](ClusterState& state) { state.set_node(build::node("n0", 2, gibibytes(16))); });
        keeper.apply();
        synced = true;
    });
    placements_.learn(keeper, clock, synced, stop.get_token());
    EXPECT_EQ(clock.sleeps(), 2);
    EXPECT_NE(rater(), before);
}

// Goal: what is new is worked off without a pause; where there is no end to it, half of a core is
// enough, until all is done.
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

// Goal: what a controller finds when it starts is worked off without a rest, however long it takes,
// and does not count to what is too much later.
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

// Goal: the learning thread knows when what was there at the start is done: work that takes long
// then has rests, and had none before. Method: a clock in which a look at it takes ten seconds.
TEST_F(PlacementsTest, RestsOnceItIsRebuilt) {
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
    Keeper keeper([] {});
    std::stop_source stop;
    SlowClock clock;
    // More kinds and nodes than a step rates, twice: at the start, and behind a request.
    keeper.post([](ClusterState& state) {
        for (int i = 0; i < 3'000; ++i)
            state.set_node(
                build::node("n" + std::to_string(i), 1, gibibytes(16) + Bytes{i * kMiB}));
        for (int i = 0; i < 12; ++i)
            state.set_pod(build::pod("p" + std::to_string(i), build::native(gibibytes(1 + i))));
    });
    keeper.apply();
    const std::atomic<bool> synced = true;
    clock.on_sleep = [&] {
        if (clock.sleeps.size() > 1) {
            stop.request_stop();
            return;
        }
        // All nodes change.
        keeper.post([](ClusterState& state) {
            for (int i = 0; i < 3'000; ++i) {
                state.set_node(
                    build::node("n" + std::to_string(i), 1, gibibytes(8) + Bytes{i * kMiB}));
            }
        });
        keeper.apply();
    };
    placements_.learn(keeper, clock, synced, stop.get_token());
    ASSERT_EQ(clock.sleeps.size(), 2U);
    EXPECT_EQ(clock.sleeps[0], LearningPace::kPeriod) << "without a rest until all was done";
    EXPECT_EQ(clock.sleeps[1], std::chrono::seconds(10)) << "of a step that did not end it";
}

// Goal: who asks while something is learnt does not end what he asked; the learner does.
TEST_F(PlacementsTest, WhoAsksEndsNothing) {
    auto asked = rater();
    const std::weak_ptr<const NodeRater> before = asked;
    placements_.learn(arrivals(5, 4), *state_.view());
    ASSERT_NE(rater(), asked);
    asked.reset();
    EXPECT_FALSE(before.expired());
    placements_.learn(arrivals(5, 4), *state_.view());
    EXPECT_TRUE(before.expired());
}

// Goal: what is learnt decides. Where only whole cards come, half a card goes beside another half;
// FGD knows nothing before it has seen a pod, and then the same.
TEST_F(PlacementsTest, WhatIsLearntDecides) {
    const PodFacts half = build::pod("half", build::native(gibibytes(8)));
    const auto made = state_.reserve(build::ask(half), NodeName("n2"));
    ASSERT_TRUE(made);
    state_.set_pod(build::bound(half, made->allocation));
    placements_.learn(arrivals(50, 16), *state_.view());
    const auto view = state_.view();
    std::vector<std::uint32_t> positions;
    for (int i = 0; i < 4; ++i)
        positions.push_back(view->position(fmt::format("n{}", i)));
    const PodAsk other = build::ask(build::pod("other", build::native(gibibytes(8))));
    for (const auto* policy : {"fgd", "expected-fill"}) {
        const auto rated = rater(policy)->rate(*view, positions, other);
        EXPECT_EQ(std::ranges::max_element(rated) - rated.begin(), 2) << policy;
        const auto fit = rater(policy)->choose(*view->find("n2"), view->find("n2")->offer(), other);
        ASSERT_TRUE(fit) << policy;
        EXPECT_EQ(fit->cards, std::vector<int>{made->allocation.containers[0].gpus[0].index});
    }
}

// Goal: models that many pods ask for are kept for them: a pod that takes any goes elsewhere.
TEST_F(PlacementsTest, LearnsWhichModelsAreAskedFor) {
    for (int i = 0; i < 4; ++i) {
        NodeInventory node = build::node(fmt::format("n{}", i), 2, gibibytes(16));
        for (Gpu& gpu : node.gpus)
            gpu.model = i < 2 ? "NVIDIA A100" : "Tesla T4";
        state_.set_node(node);
    }
    for (int i = 0; i < 60; ++i) {
        PodFacts pod = build::pod(fmt::format("p{}", i), build::native(gibibytes(8)));
        pod.card_rules.models = i % 3 == 0 ? "" : "A100";
        state_.set_pod(pod);
    }
    placements_.learn(state_.take_arrivals(), *state_.view());
    const auto view = state_.view();
    const std::vector positions{view->position("n0"), view->position("n3")};
    const PodAsk any = build::ask(build::pod("any", build::native(gibibytes(8))));
    const auto rated = rater("expected-fill")->rate(*view, positions, any);
    EXPECT_LT(rated[0], rated[1]);
    PodFacts wants = build::pod("wants", build::native(gibibytes(8)));
    wants.card_rules.models = "A100";
    const auto told = rater("fgd")->rate(*view, positions, build::ask(wants));
    EXPECT_GT(told[0], NodeRater::kLast);
    EXPECT_EQ(told[1], NodeRater::kLast);
}

// Goal: a controller that starts in a cluster that runs has learnt what its pods say, the oldest
// first, whatever order it was shown them in.
TEST_F(PlacementsTest, TheOldestComeFirst) {
    const auto mixed = [&](bool is_turned) {
        Placements placements("expected-fill");
        ClusterState state;
        state.set_node(build::node("n0", 8, gibibytes(16)));
        std::vector<PodFacts> pods;
        for (int i = 0; i < 40; ++i) {
            pods.push_back(
                build::pod(fmt::format("p{}", i), build::native(gibibytes(i < 20 ? 2 : 14))));
            pods.back().created = fmt::format("2026-11-23T10:00:{:02}Z", i);
        }
        if (is_turned) std::ranges::reverse(pods);
        for (const PodFacts& pod : pods)
            state.set_pod(pod);
        placements.learn(state.take_arrivals(), *state.view());
        const auto view = state.view();
        std::vector<std::int64_t> out;
        for (int gib = 1; gib <= 16; ++gib) {
            const std::uint32_t position = view->position("n0");
            const PodAsk pod = build::ask(build::pod("asks", build::native(gibibytes(gib))));
            out.push_back(placements.rater_of(pod)->rate(*view, {&position, 1}, pod)[0]);
        }
        return out;
    };
    EXPECT_EQ(mixed(false), mixed(true));
}

}  // namespace
}  // namespace tessera
