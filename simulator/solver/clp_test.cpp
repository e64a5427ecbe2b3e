#include "simulator/solver/clp.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "simulator/upper_bound/exhaustive_test.hpp"
#include "simulator/upper_bound/tiny_cluster_test.hpp"
#include "simulator/upper_bound/upper_bound.hpp"

namespace tessera {
namespace {

constexpr double kRounding = 1e-6;

SolveLp clp_for(const BoundProblem& problem) {
    return [lp = std::shared_ptr(make_clp(master_rows(problem)))](std::span<const LpColumn> more) {
        return lp->maximise_with(more);
    };
}

Result<UpperBound> bound_of(const std::vector<NodeShape>& nodes,
                            const std::vector<PlacementTask>& tasks,
                            CpuOnlyTasks cpu_only = CpuOnlyTasks::may_be_dropped) {
    const BoundProblem problem = bound_problem(nodes, tasks, cpu_only);
    return upper_bound(problem, clp_for(problem), 0);
}

// Goal: a textbook program (Chvatal 1983: max 5x + 4y + 3z) is solved while columns are added. A
// price is the value of one more unit of a row.
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

// Goal: the price of an active lower limit is negative.
TEST(Clp, PricesLowerLimits) {
    const auto lp = make_clp(std::vector<LpRow>{{.least = 2}, {.most = 3}});
    const auto solution = lp->maximise_with(std::vector<LpColumn>{{-4, {{0, 1}, {1, 1}}}});
    ASSERT_TRUE(solution) << solution.error().text;
    EXPECT_DOUBLE_EQ(solution->gain, -8);
    EXPECT_NEAR(solution->prices[0], -4, kRounding);
}

// Goal: a program that cannot be solved gives the reason, and so does one that takes too long.
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

// Goal: instances with a known optimum. A GPU holds one task of 0.81. Two nodes with one GPU each
// do not run a task of two GPUs. A task for another model stays out. If a node may be filled half
// in one way and half in another, the bound is above what can be placed; that value is known as
// well.
TEST(Clp, FindsBoundsThatAreKnown) {
    const NodeShape two{.cpu_milli = 8'000, .memory_mib = 1'000, .gpus = 2};
    const NodeShape one{.cpu_milli = 8'000, .memory_mib = 1'000, .gpus = 1};
    const PlacementTask large{.milli = 810, .count = 1};
    const PlacementTask half{.milli = 500, .count = 1};
    const PlacementTask pair{.milli = 1000, .count = 2};
    const PlacementTask other{.milli = 1000, .count = 1, .models = model_bit(1)};
    const PlacementTask hungry{.cpu_milli = 6'000, .milli = 1000, .count = 1};
    const PlacementTask wide{.memory_mib = 600, .milli = 1000, .count = 1};
    EXPECT_NEAR(bound_of({two}, {large, large, large})->gpus, 1.62, kRounding);
    EXPECT_NEAR(bound_of({two}, {large, large, half})->gpus, (1.62 + 1.81) / 2, kRounding);
    EXPECT_NEAR(bound_of({two}, {large, half, half})->gpus, 1.81, kRounding);
    EXPECT_NEAR(bound_of({one, one}, {pair, half})->gpus, 0.5, kRounding);
    EXPECT_NEAR(bound_of({two}, {other, half})->gpus, 0.5, kRounding);
    EXPECT_NEAR(bound_of({two}, {hungry, hungry})->gpus, 1, kRounding);
    // Memory is a row of the program, so a node may be filled in part: 1000 MiB of 600 each.
    EXPECT_NEAR(bound_of({two}, {wide, wide})->gpus, 1 + 2.0 / 3, kRounding);
    EXPECT_EQ(bound_of({two}, {})->gpus, 0);
}

// Goal: kept tasks without GPUs take their CPU from the others; dropped ones do not.
TEST(Clp, KeepsTasksWithoutGpus) {
    const NodeShape node{.cpu_milli = 8'000, .memory_mib = 1'000, .gpus = 2};
    const PlacementTask hungry{.cpu_milli = 4'000, .milli = 1000, .count = 1};
    const PlacementTask cpu_only{.cpu_milli = 4'000};
    const std::vector<PlacementTask> tasks = {hungry, hungry, cpu_only};
    EXPECT_NEAR(bound_of({node}, tasks)->gpus, 2, kRounding);
    EXPECT_NEAR(bound_of({node}, tasks, CpuOnlyTasks::are_kept)->gpus, 1, kRounding);
    const BoundProblem all = bound_problem(std::vector{node}, tasks, CpuOnlyTasks::are_kept);
    EXPECT_EQ(must_drop(all, clp_for(all)), true);
    const std::vector<PlacementTask> fewer = {hungry, cpu_only};
    const BoundProblem some = bound_problem(std::vector{node}, fewer, CpuOnlyTasks::are_kept);
    EXPECT_EQ(must_drop(some, clp_for(some)), false);
}

// Goal: on tiny clusters the bound is never below the best placement, and no task must be dropped
// if all can be placed. The bound is not above the optimum of the master program.
RC_GTEST_PROP(Clp, BoundsWhatCanBePlaced, ()) {
    const TinyCluster cluster = any_tiny_cluster();
    const CpuOnlyTasks cpu_only_tasks =
        *rc::gen::element(CpuOnlyTasks::may_be_dropped, CpuOnlyTasks::are_kept);
    const auto best = ExhaustiveSearch(cluster.nodes, cluster.tasks, cpu_only_tasks).most_gpus();
    if (!best) RC_DISCARD("the tasks without GPUs cannot be kept");
    const BoundProblem problem = bound_problem(cluster.nodes, cluster.tasks, cpu_only_tasks);
    const auto bound = upper_bound(problem, clp_for(problem), 0);
    RC_ASSERT(bound.has_value());
    RC_ASSERT(bound->gpus >= *best - kRounding);
    RC_ASSERT(bound->gpus <= bound->reached + kRounding);
    const auto drops = must_drop(problem, clp_for(problem));
    RC_ASSERT(drops.has_value());
    if (*best > problem.asked_gpus() - kRounding) RC_ASSERT(!*drops);
}

}  // namespace
}  // namespace tessera
