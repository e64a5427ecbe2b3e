// What a sample of the mix would take of a node, compared with a plain computation.
#include "domain/placement/engine/expected_fill/task_stream_group.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "domain/placement/engine/expected_fill/sampled_fill.hpp"

namespace tessera {
namespace {

std::vector<MixClass> any_mix() {
    std::vector<MixClass> mix(*rc::gen::inRange<std::size_t>(1, 40));
    for (MixClass& m : mix) {
        m.milli = *rc::gen::elementOf(std::vector<std::int16_t>{0, 10, 330, 470, 810, 1000, 1000});
        m.count = m.milli == 0
                      ? std::int16_t{0}
                      : *rc::gen::elementOf(std::vector<std::int16_t>{1, 1, 1, 1, 2, 3, 8});
        m.cpu_milli = *rc::gen::inRange(0, 40) * 250;
        m.models = *rc::gen::elementOf(std::vector<ModelSet>{kAnyModel, kAnyModel, 0b01, 0});
        m.share = *rc::gen::inRange(1, 100) / 100.0;
    }
    return mix;
}

NodeLoad any_load() {
    NodeLoad load = empty_load({.cpu_milli = *rc::gen::inRange(0, 70'000),
                                .gpus = *rc::gen::inRange(0, kMaxGpus + 1),
                                .model = *rc::gen::inRange(0, 2)});
    for (int gpu = 0; gpu < load.gpus; ++gpu) {
        const bool is_whole = *rc::gen::inRange(0, 2) == 0;
        if (!is_whole)
            load.milli[static_cast<std::size_t>(gpu)] = *rc::gen::inRange<std::int16_t>(0, 1000);
    }
    return load;
}

// Places one task after the other, with the functions that place tasks on nodes.
std::int32_t offered_one_by_one(std::span<const MixClass> mix, const StreamSample& sample,
                                const NodeLoad& load) {
    std::int32_t taken = 0;
    for (const TaskStream& stream : sample_streams(mix, sample)) {
        NodeLoad rest = load;
        for (const std::uint16_t i : stream) {
            const MixClass& m = mix[i];
            const PlacementTask task{m.cpu_milli, 0, m.milli, m.count, m.models};
            if (!can_take_but_memory(rest, task)) continue;
            rest = load_after(rest, task, tightest_gpus(rest, task));
            taken += m.milli * m.count;
        }
    }
    return taken;
}

// Goal: bit words and vectors take exactly what one task after the other takes.
RC_GTEST_PROP(TaskStreamGroup, TakesWhatFitsInOrder, ()) {
    const auto mix = any_mix();
    const StreamSample sample{
        .seed = *rc::gen::arbitrary<std::uint64_t>(), .group = 1, .groups = 4};
    const TaskStreamGroup group(mix, sample);
    for (int i = 0; i < 20; ++i) {
        const NodeLoad load = any_load();
        RC_ASSERT(group.taken(load) == offered_one_by_one(mix, sample, load));
    }
}

// Goal: CPU beyond all levels, more levels than a byte can count, and an empty mix work.
TEST(TaskStreamGroup, KnowsNoLimitOfTheMix) {
    std::vector<MixClass> mix;
    for (int i = 0; i < 900; ++i)
        mix.push_back({i * 1'000, static_cast<std::int16_t>(1 + i), 1, kAnyModel, 1.0 / 900});
    const StreamSample sample{.seed = 7};
    const TaskStreamGroup group(mix, sample);
    for (const int cpu_milli : {0, 999, 254'000, 600'000, 2'000'000'000}) {
        const NodeLoad load = empty_load({.cpu_milli = cpu_milli, .gpus = 8});
        EXPECT_EQ(group.taken(load), offered_one_by_one(mix, sample, load)) << cpu_milli;
    }
    EXPECT_EQ(TaskStreamGroup({}, sample).taken(empty_load({.cpu_milli = 1'000, .gpus = 1})), 0);
}

// Goal: the groups of a sample have each class as often as the mix, to within one task per place.
// The seed decides the order.
TEST(MixSample, HoldsTheMix) {
    const std::vector<MixClass> mix = {{1'000, 500, 1, kAnyModel, 0.5},
                                       {1'000, 1000, 1, kAnyModel, 0.3},
                                       {1'000, 1000, 8, kAnyModel, 0.2}};
    for (std::size_t place = 0; place < kStreamLength; ++place) {
        std::map<int, int> found;
        for (std::size_t group = 0; group < 4; ++group) {
            for (const TaskStream& stream : sample_streams(mix, {.group = group, .groups = 4}))
                ++found[stream[place]];
        }
        EXPECT_NEAR(found[0], 32, 1);
        EXPECT_NEAR(found[1], 19.2, 1);
        EXPECT_NEAR(found[2], 12.8, 1);
    }
    EXPECT_EQ(sample_streams(mix, {.seed = 1}), sample_streams(mix, {.seed = 1}));
    EXPECT_NE(sample_streams(mix, {.seed = 1}), sample_streams(mix, {.seed = 2}));
}

// Goal: cached values equal newly computed ones, whichever groups were drawn again meanwhile.
RC_GTEST_PROP(SampledFill, RemembersNothingStale, ()) {
    SampledFill fill(3);
    std::vector<NodeLoad> loads(10);
    for (NodeLoad& load : loads)
        load = any_load();
    for (int step = 0; step < 40; ++step) {
        const int what = *rc::gen::inRange(0, 8);
        if (what == 0) fill.renew_all(any_mix());
        if (what == 1) fill.renew_one(any_mix());
        const NodeLoad& load = loads[*rc::gen::inRange<std::size_t>(0, loads.size())];
        RC_ASSERT(fill.of(load) == fill.work_out(load));
    }
}

// Goal: more states than the cache holds change nothing but the time.
TEST(SampledFill, ForgetsAndGoesOn) {
    const std::vector<MixClass> mix = {{1'000, 100, 1, kAnyModel, 1.0}};
    SampledFill fill(0);
    fill.renew_all(mix);
    NodeLoad load = empty_load({.cpu_milli = 2'000, .gpus = 4});
    for (int i = 0; i < 300'000; ++i) {
        load.milli = {static_cast<std::int16_t>(i % 100), static_cast<std::int16_t>(i / 100 % 100),
                      static_cast<std::int16_t>(i / 10'000), 1000};
        // Two tasks of 100 on the whole GPU: the CPU is enough for two.
        ASSERT_EQ(fill.of(load), 64 * 200) << i;
    }
}

}  // namespace
}  // namespace tessera
