// Goal: a request does not wait until catch_up() has scored all nodes. Method: a policy that takes
// long for each score while the request waits. catch_up() would take ten seconds.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "app/scheduler/scoring/score_cache.hpp"
#include "domain/scheduling/state.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

// Of a GPU of 1,000 parts: a part is the smallest share.
constexpr Bytes parts(std::int64_t n) {
    return mebibytes(2 * n);
}

constexpr int kNodes = 100;

// The state of the test, which the policy sees.
struct Progress {
    std::atomic<int> scores = 0;
    std::atomic<bool> is_answered = false;             // the request
    std::atomic<bool> is_answered_before_end = false;  // before catch_up() had all scores
};

class SlowPolicy final : public PlacementPolicy {
  public:
    explicit SlowPolicy(Progress& progress) : progress_(progress) {}

    PolicyScore score(const NodeLoad& /*load*/, const PlacementTask& /*task*/,
                      std::uint64_t /*random*/) override {
        ++progress_.scores;
        progress_.scores.notify_all();
        progress_.is_answered_before_end = progress_.is_answered.load();
        if (!progress_.is_answered) std::this_thread::sleep_for(std::chrono::milliseconds(100));
        return {};
    }
    [[nodiscard]] std::unique_ptr<PlacementPolicy> copy() const override {
        return std::make_unique<SlowPolicy>(progress_);
    }
    [[nodiscard]] bool is_slow() const override { return true; }

  private:
    Progress& progress_;
};

TEST(ScoreCacheYield, ARequestIsAnsweredBetweenTwoScores) {
    ClusterState state;
    for (int i = 0; i < kNodes; ++i) {
        const std::string name = fmt::format("n{:03}", i);
        state.set_node(build::node(name, 1, parts(kMilliPerGpu)));
        const PodInfo pod = build::pod("on-" + name, build::native(parts(1 + i)));
        ASSERT_TRUE(state.reserve(build::request(pod), NodeName(name)));
    }
    const auto snapshot = state.snapshot();
    const std::uint32_t first = snapshot->position("n000");
    const PodRequest pod = build::request(build::pod("asks", build::native(parts(200))));
    Progress progress;
    ScoreCache scores(std::make_unique<SlowPolicy>(progress));
    scores.expect(std::vector<PlacementTask>{{.milli = 200, .count = 1}});
    std::jthread request([&] {
        progress.scores.wait(0);
        // catch_up() has scored this node, so the policy is not asked again.
        EXPECT_EQ(scores.score(*snapshot, {&first, 1}, pod), std::vector<std::int64_t>{0});
        progress.is_answered = true;
    });
    EXPECT_TRUE(scores.catch_up(*snapshot, 10 * kNodes));
    EXPECT_TRUE(progress.is_answered_before_end);
    request.join();
    EXPECT_EQ(progress.scores, kNodes);
}

}  // namespace
}  // namespace tessera
