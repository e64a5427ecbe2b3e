#include "app/scheduler/filter/waiting.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

using std::chrono::seconds;

const WaitingCounts::Of& of(const WaitingCounts& counts, UnschedulableReason reason) {
    return counts.by_reason.at(static_cast<std::size_t>(reason));
}

// Goal: each pending pod counts once, by its last refusal; its waiting time counts from its first.
TEST(WaitingPods, CountsByTheLastRefusal) {
    WaitingPods waiting;
    const PodUid a("a");
    const PodUid b("b");
    waiting.note(a, UnschedulableReason::too_large, seconds(10));
    waiting.note(a, UnschedulableReason::memory, seconds(20));
    waiting.note(b, UnschedulableReason::memory, seconds(25));
    const WaitingCounts counts = waiting.count({a, b, PodUid("never-asked")}, seconds(30));
    EXPECT_EQ(of(counts, UnschedulableReason::memory).pods, 2);
    EXPECT_EQ(of(counts, UnschedulableReason::memory).longest, seconds(20));
    EXPECT_EQ(of(counts, UnschedulableReason::too_large).pods, 0);
    EXPECT_EQ(counts.not_refused, 1);
    waiting.forget(a);
    EXPECT_EQ(of(waiting.count({a, b}, seconds(30)), UnschedulableReason::memory).pods, 1);
}

// Goal: a pod that is gone is forgotten, with its waiting time; one that our watch has not shown
// yet is not.
TEST(WaitingPods, ForgetsWhatIsGone) {
    WaitingPods waiting;
    const PodUid pod("p");
    waiting.note(pod, UnschedulableReason::memory, seconds(0));
    EXPECT_EQ(of(waiting.count({}, seconds(50)), UnschedulableReason::memory).pods, 0);
    EXPECT_EQ(of(waiting.count({pod}, seconds(55)), UnschedulableReason::memory).longest,
              seconds(55));
    waiting.count({}, seconds(61));
    const WaitingCounts counts = waiting.count({pod}, seconds(61));
    EXPECT_EQ(of(counts, UnschedulableReason::memory).pods, 0);
    EXPECT_EQ(counts.not_refused, 1);
}

// Goal: if the metrics are not read, refusals of ever new pods do not fill the memory.
TEST(WaitingPods, IsBounded) {
    WaitingPods waiting;
    std::vector<PodUid> pods;
    for (std::size_t i = 0; i <= WaitingPods::kMost; ++i) {
        pods.emplace_back(std::to_string(i));
        waiting.note(pods.back(), UnschedulableReason::memory, seconds(0));
    }
    EXPECT_EQ(of(waiting.count(pods, seconds(1)), UnschedulableReason::memory).pods, 1);
}

}  // namespace
}  // namespace tessera
