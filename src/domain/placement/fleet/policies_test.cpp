// The policies' scores and cards by hand; that they are those of the published experiment is held
// by app/sim/replay_test.cpp.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "domain/placement/fleet/policy.hpp"

namespace tessera {
namespace {

NodeLoad node(std::initializer_list<int> milli, int cpu_milli = 64'000, TaskKinds kinds = 0) {
    NodeLoad load = empty_load({.cpu_milli = cpu_milli, .cards = static_cast<int>(milli.size())});
    std::size_t card = 0;
    for (const int free : milli)
        load.milli.at(card++) = static_cast<std::int16_t>(free);
    load.kinds = kinds;
    return load;
}

Task task(int milli, int count = 1, int cpu_milli = 8'000) {
    return {.cpu_milli = cpu_milli,
            .milli = static_cast<std::int16_t>(milli),
            .count = static_cast<std::int16_t>(count)};
}

Rating rate(std::string_view policy, const NodeLoad& load, const Task& asked,
            std::span<const MixClass> mix = {}) {
    return (*find_fleet_policy(policy))->make({.mix = mix})->rate(load, asked, 0);
}

constexpr TaskKinds kShare = 1;
constexpr TaskKinds kTwoCards = 1U << 2;

struct Case {
    std::string_view policy;
    NodeLoad load;
    Task asked;
    int score;
    CardSet cards;
};

// Goal: the formulas of the headers, one line each.
TEST(FleetPolicies, ScoreAsTheirHeadersSay) {
    const Task no_cards = task(0, 0);
    for (const Case& c : {
             // 1 - (0.5 * 56/128 + 0.5 * 1.3/8) = 0.7
             Case{"best-fit", node({800, 1'000}), task(500), 70, 0b01},
             {"best-fit", node({300, 1'000}), task(500), 73, 0b10},
             // 1 - (64 * 8 / 128^2 + 2 * 1 / 64) / 2 = 0.96875
             {"dot-product", node({1'000, 1'000}), task(1'000), 96, 0b01},
             {"dot-product", node({1'000, 1'000}, 128'000), task(1'000, 2, 128'000), 46, 0b11},
             {"binpack", node({800, 1'000, 600}), task(500), -100, 0b100},
             {"binpack", node({1'000, 500, 500}), task(300, 2), -400, 0b110},
             {"binpack", node({1'000}), no_cards, -56'000, 0},
             {"spread", node({800, 1'000, 600}), task(500), 500, 0b010},
             {"spread", node({600, 1'000, 800}), task(300, 2), 1'200, 0b110},
             {"packing", node({1'000, 1'000}), task(500), 31, 0b01},
             {"packing", node({400, 1'000}), task(500), 49, 0b10},
             {"packing", node({700, 1'000}), task(500), 93, 0b01},
             {"packing", node({700, 1'000}), no_cards, 0, 0},
             {"clustering", node({500, 1'000}, 64'000, kShare), task(500), 95, 0b01},
             {"clustering", node({500, 1'000}, 64'000, kShare | kTwoCards), task(500), 70, 0b01},
             {"clustering", node({1'000, 1'000}), task(500), 43, 0b01},
             {"clustering", node({500, 1'000}, 64'000, kTwoCards), task(500), 20, 0b01},
             {"clustering", node({500, 1'000}, 64'000, kTwoCards), no_cards, 0, 0},
             {"clustering", empty_load({.cpu_milli = 64'000, .cards = 16}), task(500), 25, 0b01},
         }) {
        const Rating found = rate(c.policy, c.load, c.asked);
        EXPECT_EQ(found.score, c.score) << c.policy;
        EXPECT_EQ(found.cards, c.cards) << c.policy;
    }
}

// Goal: FGD puts a share where it leaves no piece that the mix cannot use, the first card among
// equals, and takes the tightest cards for all else.
TEST(FleetPolicies, FgdAvoidsFragments) {
    const std::vector<MixClass> mix = {{1'000, 500, 1, kAnyModel, 1.0}};
    // On the first card 100 would be left, of no use to anyone; on the second nothing.
    EXPECT_EQ(rate("fgd", node({600, 500}), task(500), mix).cards, 0b10);
    EXPECT_EQ(rate("fgd", node({500, 500}), task(500), mix).cards, 0b01);
    // F falls from 400 to 0: trunc(100 sigmoid(0.4)); nothing changes: trunc(100 sigmoid(0)).
    EXPECT_EQ(rate("fgd", node({400, 1'000}), task(400), mix).score, 59);
    EXPECT_EQ(rate("fgd", node({1'000, 1'000}), task(500), mix).score, 50);
    EXPECT_EQ(rate("fgd", node({900, 1'000, 800}), task(700, 2), mix).cards, 0b101);
    EXPECT_EQ(rate("fgd", node({900, 1'000}), task(0, 0), mix).cards, 0);
}

// Goal: Random takes each set of cards that fits, equally often, and no other.
TEST(FleetPolicies, RandomTakesAnyCards) {
    const auto policy = (*find_fleet_policy("random"))->make({});
    std::map<CardSet, int> taken;
    for (std::uint64_t draw = 0; draw < 600; ++draw)
        ++taken[policy->rate(node({500, 400, 1'000, 700}), task(500, 2), draw).cards];
    EXPECT_EQ(taken, (std::map<CardSet, int>{{0b0101, 200}, {0b1001, 200}, {0b1100, 200}}));
}

// Goal: an unknown name says which there are.
TEST(FleetPolicies, AreFoundByName) {
    std::set<std::string_view> names;
    for (const FleetPolicyRow& row : fleet_policies()) {
        names.insert(row.name);
        EXPECT_EQ(*find_fleet_policy(row.name), &row);
    }
    EXPECT_EQ(names.size(), fleet_policies().size());
    const std::string known =
        "binpack, spread, best-fit, dot-product, packing, clustering, fgd, expected-fill";
    EXPECT_EQ(
        find_fleet_policy("fdg").error().text,
        "no placement policy \"fdg\"; there is " + known + ", expected-fill-known-mix, random");
    EXPECT_EQ(find_policy_option("fdg").error().text,
              "no placement policy \"fdg\"; there is " + known + ", random");
}

// Goal: one that is named twice is run once: its figures, pooled, would look surer than they are.
TEST(FleetPolicies, AreFoundOnceEach) {
    const auto rows = find_fleet_policies(std::vector<std::string>{"fgd", "binpack", "FGD"});
    ASSERT_TRUE(rows);
    EXPECT_EQ(*rows, (std::vector{*find_fleet_policy("fgd"), *find_fleet_policy("binpack")}));
}

// Goal: one policy has one name everywhere; the spellings of the papers are read as well, by the
// controller and in annotations too, which know nothing of what only a simulator can know.
TEST(FleetPolicies, AreFoundBySpellingsOfTheName) {
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
        const auto row = find_fleet_policy(of.given);
        ASSERT_TRUE(row) << of.given;
        EXPECT_EQ((*row)->name, of.name);
        EXPECT_EQ(*find_policy_option(of.given), *row);
    }
    EXPECT_TRUE(find_fleet_policy("ExpectedFillKnownMix"));
    EXPECT_FALSE(find_policy_option("ExpectedFillKnownMix"));
    EXPECT_FALSE(find_fleet_policy("best fit"));
    EXPECT_TRUE(find_fleet_policy(" fgd "));
    EXPECT_FALSE(find_fleet_policy(" "));
    EXPECT_FALSE(find_fleet_policy(""));
}

}  // namespace
}  // namespace tessera
