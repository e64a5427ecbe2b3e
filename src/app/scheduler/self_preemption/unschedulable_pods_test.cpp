#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "app/scheduler/self_preemption/self_preemption_test.hpp"

namespace tessera {
namespace {

// Goal: old refusals, and pods that kube-scheduler asks for no more, cause no evictions.
TEST_F(SelfPreemptionTest, OldRefusals) {
    node("a", 1);
    holder("x", "a", 0, 16, 1);
    EXPECT_TRUE(refuse(waits("high", 16, 10), {"a"}));
    leads_ = false;
    for (auto away = 0s; away < UnschedulablePods::kForgotten; away += 60s)
        EXPECT_EQ(writes_after(60s), Writes{});
    EXPECT_EQ(evictions_.questions(), 0) << "a replica that does not lead checks no pod";
    leads_ = true;
    EXPECT_EQ(writes_after(60s), Writes{});
}

// Goal: if there are too many pods, the least important ones are left out, until they are refused
// again.
TEST_F(SelfPreemptionTest, TooMany) {
    node("a", 1);
    holder("x", "a", 0, 16, 1);
    const PodInfo least = waits("least", 16, 3);
    EXPECT_TRUE(refuse(least, {"a"}));
    for (std::size_t i = 0; i < UnschedulablePods::kMost; ++i)
        EXPECT_TRUE(refuse(waits("more-" + std::to_string(i), 16, 4), {"unknown"}));
    EXPECT_EQ(writes_after(2s), Writes{});
    EXPECT_TRUE(refuse(least, {"a"}));
    EXPECT_EQ(writes_after(2s).front(), "evict x");
}

// Goal: among many equals each has its turn, whatever its uid.
TEST_F(SelfPreemptionTest, TooManyEquals) {
    node("a", 1);
    holder("x", "a", 0, 16, 1);
    const PodInfo lucky = waits("0-first-in-every-order", 16, 4);
    for (int burst = 0; burst < 200 && evictions_.writes().empty(); ++burst) {
        EXPECT_TRUE(refuse(lucky, {"a"}));
        for (std::size_t i = 0; i < UnschedulablePods::kMost + 6; ++i)
            EXPECT_TRUE(refuse(waits("more-" + std::to_string(i), 16, 4), {"unknown"}));
        writes_after(2s);
    }
    ASSERT_FALSE(evictions_.writes().empty());
    EXPECT_EQ(evictions_.writes().front(), "evict x");
}

// Goal: many pods with unsuccessful turns do not keep a less important one from its turn.
TEST_F(SelfPreemptionTest, TooManyInVain) {
    UnschedulablePods pods;
    for (std::size_t i = 0; i < UnschedulablePods::kMost; ++i) {
        const PodUid uid("high-" + std::to_string(i));
        pods.refused(uid, 100, {NodeName("a")}, 0s);
    }
    for (auto& [uid, entry] : pods.take_due(UnschedulablePods::kPatience))
        pods.put_back(uid, entry, UnschedulablePods::kPatience);
    pods.refused(PodUid("low"), 50, {NodeName("b")}, 3s);
    const auto due = pods.take_due(3s + UnschedulablePods::kPatience);
    ASSERT_EQ(due.size(), 1U);
    EXPECT_EQ(due[0].first, PodUid("low"));
}

}  // namespace
}  // namespace tessera
