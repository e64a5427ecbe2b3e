#include "adapters/lp/clp.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "domain/placement/bound/exhaustive_test.hpp"
#include "domain/placement/bound/tiny_cluster_test.hpp"
#include "domain/placement/bound/upper_bound.hpp"

namespace tessera {
namespace {

constexpr double kRounding = 1e-6;

SolveLp clp_for(const BoundProblem& problem) {
    return [lp = std::shared_ptr(make_clp(master_rows(problem)))](std::span<const LpColumn> more) {
        return lp->maximise_with(more);
    };
}

Result<UpperBound> bound_of(const std::vector<NodeShape>& nodes, const std::vector<Task>& tasks,
                            CpuOnlyTasks cpu_only = CpuOnlyTasks::may_be_dropped) {
    const BoundProblem problem = bound_problem(nodes, tasks, cpu_only);
    return upper_bound(problem, clp_for(problem), 0);
}

// Goal: a textbook program (Chvatal 1983: max 5x + 4y + 3z) is solved, as its columns come; prices
// are what another unit of a row is worth.
TEST(Clp, SolvesAsColumnsCome) {
    const std::vector<LpRow> rows = {{.most = 5}, {.most = 11}, {.most = 8}};
    const auto lp = make_clp(rows);
    const std::vector<LpColumn> first = {{5, {{0, 2}, {1, 4}, {2, 3}}}};
    auto solution = lp->maximise_with(first);
    ASSERT_TRUE(solution) << solution.error().text;
    EXPECT_DOUBLE_EQ(solution->gain, 12.5);
    const std::vector<LpColumn> more = {{4, {{0, 3}, {1, 1}, {2, 4}}},
                                        {3, {{0, 1}, {1, 2}, {2, 2}}}};
    solution = lp->maximise_with(more);
    ASSERT_TRUE(solution) << solution.error().text;
    EXPECT_DOUBLE_EQ(solution->gain, 13);
    ASSERT_EQ(solution->prices.size(), 3U);
    EXPECT_NEAR(solution->prices[0], 1, kRounding);
    EXPECT_NEAR(solution->prices[1], 0, kRounding);
    EXPECT_NEAR(solution->prices[2], 1, kRounding);
}

// Goal: the price of a lower limit that binds is negative.
TEST(Clp, PricesLowerLimits) {
    const auto lp = make_clp(std::vector<LpRow>{{.least = 2}, {.most = 3}});
    const auto solution = lp->maximise_with(std::vector<LpColumn>{{-4, {{0, 1}, {1, 1}}}});
    ASSERT_TRUE(solution) << solution.error().text;
    EXPECT_DOUBLE_EQ(solution->gain, -8);
    EXPECT_NEAR(solution->prices[0], -4, kRounding);
}

// Goal: a program that cannot be solved says why, and one that takes too long says that.
TEST(Clp, SaysWhyNot) {
    const std::vector<LpColumn> column = {{1, {{0, 1}}}};
    EXPECT_EQ(make_clp(std::vector<LpRow>{{.most = -1}})->maximise_with(column).error(),
              (Error{Code::invalid_argument, "the linear program has no solution"}));
    EXPECT_EQ(make_clp(std::vector<LpRow>{{.least = 1}})->maximise_with(column).error(),
              (Error{Code::invalid_argument, "the linear program's gain has no limit"}));
    const std::vector<LpRow> rows(3, LpRow{.least = 1, .most = 3});
    const std::vector<LpColumn> three = {
        {1, {{0, 1}, {1, 2}}}, {2, {{1, 1}, {2, 1}}}, {3, {{2, 3}}}};
    EXPECT_EQ(make_clp(rows, {.iterations = 0})->maximise_with(three).error(),
              (Error{Code::internal, "the linear program is not solved after 0 iterations"}));
}

// Goal: instances whose optimum is known. Of 0.81 a card holds one; two nodes of one card each do
// not run a task of two; what asks for another model stays out. Where a node may be filled half in
// one way and half in another, the bound is above what can be placed: it is known as well.
TEST(Clp, FindsBoundsThatAreKnown) {
    const NodeShape two{.cpu_milli = 8'000, .memory_mib = 1'000, .cards = 2};
    const NodeShape one{.cpu_milli = 8'000, .memory_mib = 1'000, .cards = 1};
    const Task large{.milli = 810, .count = 1};
    const Task half{.milli = 500, .count = 1};
    const Task pair{.milli = 1000, .count = 2};
    const Task other{.milli = 1000, .count = 1, .models = model_bit(1)};
    const Task hungry{.cpu_milli = 6'000, .milli = 1000, .count = 1};
    const Task wide{.memory_mib = 600, .milli = 1000, .count = 1};
    EXPECT_NEAR(bound_of({two}, {large, large, large})->cards, 1.62, kRounding);
    EXPECT_NEAR(bound_of({two}, {large, large, half})->cards, (1.62 + 1.81) / 2, kRounding);
    EXPECT_NEAR(bound_of({two}, {large, half, half})->cards, 1.81, kRounding);
    EXPECT_NEAR(bound_of({one, one}, {pair, half})->cards, 0.5, kRounding);
    EXPECT_NEAR(bound_of({two}, {other, half})->cards, 0.5, kRounding);
    EXPECT_NEAR(bound_of({two}, {hungry, hungry})->cards, 1, kRounding);
    // Memory is a row of the program, so that a node may be filled in part: 1000 MiB of 600 each.
    EXPECT_NEAR(bound_of({two}, {wide, wide})->cards, 1 + 2.0 / 3, kRounding);
    EXPECT_EQ(bound_of({two}, {})->cards, 0);
}

// Goal: kept tasks without cards take their CPU from the others; dropped ones do not.
TEST(Clp, KeepsTasksWithoutCards) {
    const NodeShape node{.cpu_milli = 8'000, .memory_mib = 1'000, .cards = 2};
    const Task hungry{.cpu_milli = 4'000, .milli = 1000, .count = 1};
    const Task cpu_only{.cpu_milli = 4'000};
    const std::vector<Task> tasks = {hungry, hungry, cpu_only};
    EXPECT_NEAR(bound_of({node}, tasks)->cards, 2, kRounding);
    EXPECT_NEAR(bound_of({node}, tasks, CpuOnlyTasks::are_kept)->cards, 1, kRounding);
    const BoundProblem all = bound_problem(std::vector{node}, tasks, CpuOnlyTasks::are_kept);
    EXPECT_EQ(must_drop(all, clp_for(all)), true);
    const std::vector<Task> fewer = {hungry, cpu_only};
    const BoundProblem some = bound_problem(std::vector{node}, fewer, CpuOnlyTasks::are_kept);
    EXPECT_EQ(must_drop(some, clp_for(some)), false);
}

// Goal: on tiny clusters the bound is never below the best placement, nor is dropping said to be
// needed where all can be placed; and it is not above the master program, solved to the end.
RC_GTEST_PROP(Clp, BoundsWhatCanBePlaced, ()) {
    const TinyCluster cluster = tiny_cluster();
    const CpuOnlyTasks wish =
        *rc::gen::element(CpuOnlyTasks::may_be_dropped, CpuOnlyTasks::are_kept);
    const auto best = Exhaustive(cluster.nodes, cluster.tasks, wish).most_cards();
    if (!best) RC_DISCARD("the tasks without cards cannot be kept");
    const BoundProblem problem = bound_problem(cluster.nodes, cluster.tasks, wish);
    const auto bound = upper_bound(problem, clp_for(problem), 0);
    RC_ASSERT(bound.has_value());
    RC_ASSERT(bound->cards >= *best - kRounding);
    RC_ASSERT(bound->cards <= bound->reached + kRounding);
    const auto drops = must_drop(problem, clp_for(problem));
    RC_ASSERT(drops.has_value());
    if (*best > problem.asked_cards() - kRounding) RC_ASSERT(!*drops);
}

}  // namespace
}  // namespace tessera
