#include "domain/placement/engine/expected_fill/learnt_mix.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera {
namespace {

const PlacementTask kShare{.cpu_milli = 1'000, .memory_mib = 5, .milli = 500, .count = 1};
const PlacementTask kWhole{.cpu_milli = 8'000, .memory_mib = 5, .milli = 1000, .count = 1};

// Goal: a task's weight halves after each 2,000 later tasks, for months.
TEST(LearntMix, HalvesWhatIsOld) {
    LearntMix learnt;
    EXPECT_TRUE(learnt.mix().empty());
    for (int i = 0; i < 300'000; ++i)
        learnt.add(kShare);
    for (int i = 0; i < LearntMix::kHalfLife; ++i)
        learnt.add(kWhole);
    const auto mix = learnt.mix();
    ASSERT_EQ(mix.size(), 2U);
    EXPECT_EQ(mix[0].milli, 500);
    EXPECT_NEAR(mix[0].share, 0.5, 1e-6);
    EXPECT_NEAR(mix[1].share, 0.5, 1e-6);
}

// Goal: memory is not part of a class; everything else is.
TEST(LearntMix, TellsClassesApart) {
    LearntMix learnt;
    PlacementTask other = kShare;
    other.memory_mib = 7;
    learnt.add(kShare);
    learnt.add(other);
    EXPECT_EQ(learnt.mix().size(), 1U);
    other.models = model_bit(1);
    learnt.add(other);
    EXPECT_EQ(learnt.mix().size(), 2U);
}

// Goal: the number of classes is limited, and the frequent ones stay.
TEST(LearntMix, IsBounded) {
    LearntMix learnt;
    for (int i = 0; i < 20'000; ++i) {
        PlacementTask one = kShare;
        one.cpu_milli = i;
        learnt.add(one);
        learnt.add(kWhole);
        ASSERT_LE(learnt.mix().size(), LearntMix::kMostClasses);
        if (i > 3'000) i += 50;  // mix() is slow
    }
    double whole = 0;
    for (const MixClass& m : learnt.mix())
        whole += m.milli == 1000 ? m.share : 0;
    EXPECT_GT(whole, 0.5);
}

}  // namespace
}  // namespace tessera
