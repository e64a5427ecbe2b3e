// Goal: over many stretches, the charge equals the work that was done, whatever the work is like.
// Method: simulates a program's launches, a GPU that does them one after the other, and pacing
// events at random places as a stream has them.
#include "guard/process/launched_work.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace tessera::guard {
namespace {

constexpr std::int64_t kMicrosecond = 1000;

// That many kernels, each launched every_ns after the one before.
struct Phase {
    int launches;
    std::int64_t ns;
    std::int64_t every_ns;
};

struct Sum {
    std::int64_t work_ns = 0;
    std::int64_t charged_ns = 0;
    [[nodiscard]] double part() const {
        return static_cast<double>(charged_ns) / static_cast<double>(work_ns);
    }
};

class Stream {
  public:
    explicit Stream(int batch) : lot_(batch - batch / 4, batch + batch / 4) {}

    void launch(std::int64_t ns, std::int64_t every_ns) {
        if (launches_ == to_pacing_event_) set_pacing_event(ns);
        launches_++;
        done_ns_ = std::max(done_ns_, now_ns_) + ns;
        sum_.work_ns += ns;
        now_ns_ += every_ns;
    }
    [[nodiscard]] const Sum& sum() const { return sum_; }

  private:
    // The pacing event is reached when all work before it is done.
    void set_pacing_event(std::int64_t next_ns) {
        const bool is_ahead = now_ns_ < reached_ns_;
        const Span span = {reached_ns_, std::max(done_ns_, now_ns_)};
        const std::int64_t pause_at_most = is_ahead ? 0 : now_ns_ - span.start_ns;
        if (to_pacing_event_ > 0) learn_launch(known_, first_ns_, to_pacing_event_);
        const std::int64_t pause =
            take_pause_ns(known_, {span, launches_, first_ns_, pause_at_most});
        sum_.charged_ns += span.end_ns - span.start_ns - pause;
        reached_ns_ = span.end_ns;
        first_ns_ = next_ns;
        launches_ = 0;
        to_pacing_event_ = lot_(random_);
    }

    std::mt19937 random_{19};
    std::uniform_int_distribution<int> lot_;
    LaunchedWork known_ = {};
    Sum sum_;
    int launches_ = 0;
    int to_pacing_event_ = 0;
    std::int64_t first_ns_ = -1;
    std::int64_t reached_ns_ = 0;
    std::int64_t now_ns_ = 0;
    std::int64_t done_ns_ = 0;
};

Sum run(const std::vector<Phase>& phases, int batch, int rounds) {
    Stream stream(batch);
    for (int round = 0; round < rounds; round++)
        for (const Phase& phase : phases)
            for (int i = 0; i < phase.launches; i++)
                stream.launch(phase.ns, phase.every_ns);
    return stream.sum();
}

TEST(LaunchedWork, IsToldFromPauses) {
    const double part = run({{1, 50 * kMicrosecond, 300 * kMicrosecond}}, 7, 10000).part();
    EXPECT_GT(part, 0.99);
    EXPECT_LT(part, 1.01);
}

TEST(LaunchedWork, IsToldInTheSumThoughFewAreMost) {
    const double part = run({{15, 20 * kMicrosecond, 200 * kMicrosecond},
                             {1, 400 * kMicrosecond, 200 * kMicrosecond}},
                            10, 5000)
                            .part();
    EXPECT_GT(part, 0.95);
    EXPECT_LT(part, 1.05);
}

// There is hardly any pause from which an estimate that is too high could be deducted.
TEST(LaunchedWork, IsToldInTheSumWithFewPauses) {
    const double part = run({{15, 20 * kMicrosecond, 100 * kMicrosecond},
                             {1, 1200 * kMicrosecond, 100 * kMicrosecond}},
                            20, 2000)
                            .part();
    EXPECT_GT(part, 0.93);
    EXPECT_LT(part, 1.03);
}

TEST(LaunchedWork, IsNotChargedTwiceWhereItWasAhead) {
    const double part =
        run({{100, 10 * kMicrosecond, 200 * kMicrosecond}, {60, 300 * kMicrosecond, 0}}, 10, 1000)
            .part();
    EXPECT_GT(part, 0.95);
    EXPECT_LT(part, 1.05);
}

}  // namespace
}  // namespace tessera::guard
