// The policies' scores and GPUs by hand. simulator/replay/replay_test.cpp compares them with the
// published experiment.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "domain/placement/engine/policy.hpp"

namespace tessera {
namespace {

NodeLoad node(std::initializer_list<int> milli, int cpu_milli = 64'000, TaskKinds kinds = 0) {
    NodeLoad load = empty_load({.cpu_milli = cpu_milli, .gpus = static_cast<int>(milli.size())});
    std::size_t gpu = 0;
    for (const int free : milli)
        load.milli.at(gpu++) = static_cast<std::int16_t>(free);
    load.kinds = kinds;
    return load;
}

PlacementTask task(int milli, int count = 1, int cpu_milli = 8'000) {
    return {.cpu_milli = cpu_milli,
            .milli = static_cast<std::int16_t>(milli),
            .count = static_cast<std::int16_t>(count)};
}

PolicyScore score(std::string_view policy, const NodeLoad& load, const PlacementTask& asked,
                  std::span<const MixClass> mix = {}) {
    return (*find_placement_policy(policy))->make({.mix = mix})->score(load, asked, 0);
}

constexpr TaskKinds kShare = 1;
constexpr TaskKinds kTwoGpus = 1U << 2;

struct Case {
    std::string_view policy;
    NodeLoad load;
    PlacementTask asked;
    int score;
    GpuSet gpus;
};

// Goal: the formulas of the headers, one line each.
TEST(PlacementPolicies, ScoreAsTheirHeadersSay) {
    const PlacementTask no_gpus = task(0, 0);
    for (const Case& c : {
             // 1 - (0.5 * 56/128 + 0.5 * 1.3/8) = 0.7
             Case{"best-fit", node({800, 1'000}), task(500), 70, 0b01},
             {"best-fit", node({300, 1'000}), task(500), 73, 0b10},
             // 1 - (64 * 8 / 128^2 + 2 * 1 / 64) / 2 = 0.96875
             {"dot-product", node({1'000, 1'000}), task(1'000), 96, 0b01},
             {"dot-product", node({1'000, 1'000}, 128'000), task(1'000, 2, 128'000), 46, 0b11},
             {"binpack", node({800, 1'000, 600}), task(500), -100, 0b100},
             {"binpack", node({1'000, 500, 500}), task(300, 2), -400, 0b110},
             {"binpack", node({1'000}), no_gpus, -56'000, 0},
             {"spread", node({800, 1'000, 600}), task(500), 500, 0b010},
             {"spread", node({600, 1'000, 800}), task(300, 2), 1'200, 0b110},
             {"packing", node({1'000, 1'000}), task(500), 31, 0b01},
             {"packing", node({400, 1'000}), task(500), 49, 0b10},
             {"packing", node({700, 1'000}), task(500), 93, 0b01},
             {"packing", node({700, 1'000}), no_gpus, 0, 0},
             {"clustering", node({500, 1'000}, 64'000, kShare), task(500), 95, 0b01},
             {"clustering", node({500, 1'000}, 64'000, kShare | kTwoGpus), task(500), 70, 0b01},
             {"clustering", node({1'000, 1'000}), task(500), 43, 0b01},
             {"clustering", node({500, 1'000}, 64'000, kTwoGpus), task(500), 20, 0b01},
             {"clustering", node({500, 1'000}, 64'000, kTwoGpus), no_gpus, 0, 0},
             {"clustering", empty_load({.cpu_milli = 64'000, .gpus = 16}), task(500), 25, 0b01},
         }) {
        const PolicyScore found = score(c.policy, c.load, c.asked);
        EXPECT_EQ(found.score, c.score) << c.policy;
        EXPECT_EQ(found.gpus, c.gpus) << c.policy;
    }
}

// Goal: FGD places a share where it leaves no piece that the mix cannot use, on the first GPU among
// equals. For everything else it takes the tightest GPUs.
TEST(PlacementPolicies, FgdAvoidsFragments) {
    const std::vector<MixClass> mix = {{1'000, 500, 1, kAnyModel, 1.0}};
    // On the first GPU 100 would be left, which no task can use; on the second nothing.
    EXPECT_EQ(score("fgd", node({600, 500}), task(500), mix).gpus, 0b10);
    EXPECT_EQ(score("fgd", node({500, 500}), task(500), mix).gpus, 0b01);
    // F falls from 400 to 0: trunc(100 sigmoid(0.4)); nothing changes: trunc(100 sigmoid(0)).
    EXPECT_EQ(score("fgd", node({400, 1'000}), task(400), mix).score, 59);
    EXPECT_EQ(score("fgd", node({1'000, 1'000}), task(500), mix).score, 50);
    EXPECT_EQ(score("fgd", node({900, 1'000, 800}), task(700, 2), mix).gpus, 0b101);
    EXPECT_EQ(score("fgd", node({900, 1'000}), task(0, 0), mix).gpus, 0);
}

// Goal: Random takes each set of GPUs that fits, with equal probability, and no other.
TEST(PlacementPolicies, RandomTakesAnyGpus) {
    const auto policy = (*find_placement_policy("random"))->make({});
    std::map<GpuSet, int> taken;
    for (std::uint64_t random = 0; random < 600; ++random)
        ++taken[policy->score(node({500, 400, 1'000, 700}), task(500, 2), random).gpus];
    EXPECT_EQ(taken, (std::map<GpuSet, int>{{0b0101, 200}, {0b1001, 200}, {0b1100, 200}}));
}

// Goal: the error for an unknown name lists the existing names.
TEST(PlacementPolicies, AreFoundByName) {
    std::set<std::string_view> names;
    for (const PlacementPolicyRow& row : placement_policies()) {
        names.insert(row.name);
        EXPECT_EQ(*find_placement_policy(row.name), &row);
    }
    EXPECT_EQ(names.size(), placement_policies().size());
    const std::string known =
        "binpack, spread, best-fit, dot-product, packing, clustering, fgd, expected-fill";
    EXPECT_EQ(
        find_placement_policy("fdg").error().text,
        "no placement policy \"fdg\"; there is " + known + ", expected-fill-known-mix, random");
    EXPECT_EQ(find_policy_option("fdg").error().text,
              "no placement policy \"fdg\"; there is " + known + ", random");
}

// Goal: a policy that is named twice runs once. Its pooled figures would look more certain than
// they are.
TEST(PlacementPolicies, AreFoundOnceEach) {
    const auto rows = find_placement_policies(std::vector<std::string>{"fgd", "binpack", "FGD"});
    ASSERT_TRUE(rows);
    EXPECT_EQ(*rows,
              (std::vector{*find_placement_policy("fgd"), *find_placement_policy("binpack")}));
}

// Goal: a policy has one name everywhere. The controller and annotations also accept the spellings
// of the papers. They do not accept policies that only a simulator can run.
TEST(PlacementPolicies, AreFoundBySpellingsOfTheName) {
    struct Spelling {
        std::string_view given;
        std::string_view name;
    };
    for (const Spelling& of : {Spelling{"BestFit", "best-fit"},
                               {"best_fit", "best-fit"},
                               {"DotProd", "dot-product"},
                               {"FGD", "fgd"},
                               {"ExpectedFill", "expected-fill"},
                               {"Binpack", "binpack"}}) {
        const auto row = find_placement_policy(of.given);
        ASSERT_TRUE(row) << of.given;
        EXPECT_EQ((*row)->name, of.name);
        EXPECT_EQ(*find_policy_option(of.given), *row);
    }
    EXPECT_TRUE(find_placement_policy("ExpectedFillKnownMix"));
    EXPECT_FALSE(find_policy_option("ExpectedFillKnownMix"));
    EXPECT_FALSE(find_placement_policy("best fit"));
    EXPECT_TRUE(find_placement_policy(" fgd "));
    EXPECT_FALSE(find_placement_policy(" "));
    EXPECT_FALSE(find_placement_policy(""));
}

}  // namespace
}  // namespace tessera
