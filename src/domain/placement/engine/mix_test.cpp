#include "domain/placement/engine/mix.hpp"

#include <gtest/gtest.h>

#include "domain/placement/engine/fragmentation.hpp"

namespace tessera {
namespace {

PlacementTask gpus(int cpu_milli, int milli, int count, ModelSet models = kAnyModel) {
    return {.cpu_milli = cpu_milli,
            .milli = static_cast<std::int16_t>(milli),
            .count = static_cast<std::int16_t>(count),
            .models = models};
}

// Goal: the most frequent first, ties by the larger one, cut at the percentage; the shares of the
// rest add up to 1.
TEST(TargetMix, KeepsTheMostFrequent) {
    std::vector<MixSample> samples;
    const auto add = [&](int times, const PlacementTask& task, std::string_view models = "") {
        samples.insert(samples.end(), static_cast<std::size_t>(times), {task, models});
    };
    add(1, gpus(9'000, 1'000, 1));
    add(3, gpus(1'000, 500, 1));
    add(3, gpus(2'000, 500, 1, model_bit(0)), "A");
    add(3, gpus(2'000, 500, 1, model_bit(1)), "B");
    const auto mix = target_mix(samples, 80);
    const std::vector<MixClass> expected = {
        {2'000, 500, 1, model_bit(1), 0.3 / 0.9},
        {2'000, 500, 1, model_bit(0), 0.3 / 0.9},
        {1'000, 500, 1, kAnyModel, 0.3 / 0.9},
    };
    EXPECT_EQ(mix, expected);
    EXPECT_EQ(target_mix(samples, 100).size(), 4U);
    EXPECT_TRUE(target_mix({}, 95).empty());
}

// Goal: memory makes no separate class; the spelling of the models does.
TEST(TargetMix, TellsClassesApart) {
    PlacementTask large = gpus(1'000, 500, 1);
    large.memory_mib = 77;
    const std::vector<MixSample> samples = {
        {gpus(1'000, 500, 1), ""}, {large, ""}, {large, "A|B"}, {large, "B|A"}};
    EXPECT_EQ(target_mix(samples, 100).size(), 3U);
}

// Goal: each reason why free GPUs are a fragment, by hand.
TEST(Fragmentation, CountsEachReason) {
    NodeLoad load = empty_load({.cpu_milli = 4'000, .memory_mib = 0, .gpus = 3, .model = 1});
    load.milli = {200, 1'000, 600};
    struct Case {
        const char* why;
        MixClass demand;
        double fragments;
    };
    for (const Case& c : {Case{"the piece that is too small", {1'000, 500, 1, kAnyModel}, 200},
                          {"nothing is too small", {1'000, 200, 1, kAnyModel}, 0},
                          {"two GPUs", {1'000, 600, 2, kAnyModel}, 200},
                          {"not enough GPUs", {1'000, 700, 2, kAnyModel}, 1'800},
                          {"not enough CPU", {5'000, 500, 1, kAnyModel}, 1'800},
                          {"neither", {5'000, 1'000, 2, kAnyModel}, 1'800},
                          {"another model", {1'000, 500, 1, model_bit(0)}, 1'800},
                          {"no GPU asked for", {1'000, 0, 0, kAnyModel}, 1'800},
                          {"nor enough CPU", {5'000, 0, 0, kAnyModel}, 1'800}}) {
        MixClass demand = c.demand;
        demand.share = 1;
        Fragmentation fragmentation(std::span(&demand, 1));
        EXPECT_EQ(fragmentation.of(load), c.fragments) << c.why;
    }
}

}  // namespace
}  // namespace tessera
