// What the bound guarantees, whatever the solver answers. With a real solver:
// simulator/solver/clp_test.cpp.
#include "simulator/upper_bound/upper_bound.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "simulator/upper_bound/exhaustive_test.hpp"
#include "simulator/upper_bound/tiny_cluster_test.hpp"

namespace tessera {
namespace {

constexpr double kNoMatter = 1e9;  // a gap that stops it after one round

CpuOnlyTasks any_tasks() {
    return *rc::gen::element(CpuOnlyTasks::may_be_dropped, CpuOnlyTasks::are_kept);
}

// A solver that returns arbitrary prices.
SolveLp solver_of_nonsense(std::size_t rows) {
    return [rows](std::span<const LpColumn>) -> Result<LpSolution> {
        LpSolution solution;
        for (std::size_t i = 0; i < rows; ++i)
            solution.prices.push_back(*rc::gen::inRange(-6, 12) / 8.0);
        return solution;
    };
}

// Goal: no placement of a tiny cluster's tasks uses more than the bound, for any prices of the
// solver.
RC_GTEST_PROP(UpperBound, HoldsForAnyPrices, ()) {
    const TinyCluster cluster = any_tiny_cluster();
    const CpuOnlyTasks tasks = any_tasks();
    const auto best = ExhaustiveSearch(cluster.nodes, cluster.tasks, tasks).most_gpus();
    const BoundProblem problem = bound_problem(cluster.nodes, cluster.tasks, tasks);
    const auto bound =
        upper_bound(problem, solver_of_nonsense(master_rows(problem).size()), kNoMatter);
    if (!best) RC_DISCARD("the tasks without GPUs cannot be kept");
    RC_ASSERT(bound.has_value());
    RC_ASSERT(bound->gpus >= *best - 1e-9);
}

// Goal: the caller gets the solver's error.
TEST(UpperBound, PassesOnWhatTheSolverSays) {
    const std::vector<NodeShape> nodes = {{.cpu_milli = 1'000, .memory_mib = 1, .gpus = 1}};
    const std::vector<PlacementTask> tasks = {{.milli = 500, .count = 1}};
    const SolveLp fails = [](std::span<const LpColumn>) -> Result<LpSolution> {
        return fail(Code::internal, "gave up");
    };
    const BoundProblem problem = bound_problem(nodes, tasks, CpuOnlyTasks::are_kept);
    EXPECT_EQ(upper_bound(problem, fails, 0).error(), (Error{Code::internal, "gave up"}));
    EXPECT_EQ(must_drop(problem, fails).error(), (Error{Code::internal, "gave up"}));
}

// Goal: tasks without GPUs that request more CPU than there is cannot be kept; one must be dropped.
TEST(UpperBound, SaysThatTasksCannotBeKept) {
    const std::vector<NodeShape> nodes = {{.cpu_milli = 1'000, .memory_mib = 1, .gpus = 1}};
    const std::vector<PlacementTask> tasks = {{.cpu_milli = 3'000}};
    const SolveLp never = [](std::span<const LpColumn>) -> Result<LpSolution> {
        ADD_FAILURE() << "there is nothing to solve";
        return LpSolution{};
    };
    const BoundProblem problem = bound_problem(nodes, tasks, CpuOnlyTasks::are_kept);
    EXPECT_EQ(upper_bound(problem, never, 0).error(),
              (Error{Code::invalid_argument,
                     "the tasks without GPUs request 3 cores and the nodes have 1; they cannot "
                     "all be kept"}));
    EXPECT_EQ(must_drop(problem, never), true);
}

// Goal: equal nodes and equal tasks are combined in any order. The least memory counts. A model
// that no node has is ignored. Parts of several GPUs count as that number of single parts.
TEST(BoundProblem, BringsTogetherWhatIsAlike) {
    const NodeShape small{.cpu_milli = 8'000, .memory_mib = 64, .gpus = 1, .model = 0};
    const NodeShape large{.cpu_milli = 96'000, .memory_mib = 256, .gpus = 8, .model = 1};
    const std::vector<NodeShape> nodes = {large, small, large};
    const PlacementTask part{.cpu_milli = 1'000, .memory_mib = 9, .milli = 500, .count = 1};
    PlacementTask part_of_all_models = part;
    part_of_all_models.models = model_bit(0) | model_bit(1) | model_bit(7);
    part_of_all_models.memory_mib = 7;
    const PlacementTask parts_of_two{
        .cpu_milli = 2'001, .memory_mib = 16, .milli = 500, .count = 2};
    const PlacementTask whole{.cpu_milli = 4'000, .memory_mib = 1, .milli = 1000, .count = 2};
    const PlacementTask cpu_only{.cpu_milli = 5'000};
    const std::vector<PlacementTask> tasks = {whole, part, cpu_only, parts_of_two,
                                              part_of_all_models};

    const BoundProblem problem = bound_problem(nodes, tasks, CpuOnlyTasks::are_kept);
    EXPECT_EQ(problem.shapes, (std::vector<BoundShape>{{small, 1}, {large, 2}}));
    const ModelSet there = model_bit(0) | model_bit(1);
    EXPECT_EQ(problem.classes, (std::vector<BoundClass>{{1'000, 7, 500, 1, there, 0, 500},
                                                        {4'000, 1, 1000, 2, there, 1, 1000}}));
    EXPECT_EQ(problem.demands, (std::vector<BoundDemand>{{4, 500}, {2, 1000}}));
    EXPECT_EQ(problem.kept_cpu_milli, 5'000);
    EXPECT_EQ(problem.asked_gpus(), 4.0);
    EXPECT_EQ(problem.gpus(), 17.0);
    EXPECT_EQ(problem.cpu_milli(), 200'000);
    EXPECT_EQ(bound_problem(nodes, tasks, CpuOnlyTasks::may_be_dropped).kept_cpu_milli, 0);
}

// Goal: tasks with the same ways are one demand, which each of the ways meets. Whole GPUs that need
// not be on one node count one by one.
TEST(BoundProblem, KeepsWaysApart) {
    const std::vector<NodeShape> nodes = {{.gpus = 2, .model = 0}, {.gpus = 1, .model = 1}};
    const auto on = [](int model, std::int16_t milli, std::int16_t count, int memory_mib) {
        return PlacementTask{.cpu_milli = 600,
                             .memory_mib = memory_mib,
                             .milli = milli,
                             .count = count,
                             .models = model_bit(model)};
    };
    const std::vector<std::vector<BoundWay>> tasks = {
        {{on(0, 200, 1, 8)}, {on(1, 700, 1, 8)}},
        {{on(0, 200, 1, 6)}, {on(1, 700, 1, 6)}},
        {{on(0, 200, 1, 9)}},
        {{on(0, 1000, 3, 9)}, {on(1, 1000, 3, 9), true}},
        {}};
    const BoundProblem problem = bound_problem(nodes, tasks);
    EXPECT_EQ(problem.demands, (std::vector<BoundDemand>{{1, 200}, {2, 700}, {3, 1000}}));
    EXPECT_EQ(problem.classes, (std::vector<BoundClass>{{600, 9, 200, 1, model_bit(0), 0, 200},
                                                        {600, 6, 200, 1, model_bit(0), 1, 200},
                                                        {600, 6, 700, 1, model_bit(1), 1, 700},
                                                        {600, 9, 1000, 3, model_bit(0), 2, 1000},
                                                        {200, 3, 1000, 1, model_bit(1), 2, 1000}}));
    EXPECT_DOUBLE_EQ(problem.asked_gpus(), 0.2 + 1.4 + 3);
}

}  // namespace
}  // namespace tessera
