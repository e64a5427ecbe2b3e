#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "simulator/churn/churn.hpp"
#include "simulator/churn/churn_sweep.hpp"

namespace tessera {
namespace {

PlacementTask gpus(int count) {
    return {.cpu_milli = 1,
            .memory_mib = 1,
            .milli = kMilliPerGpu,
            .count = static_cast<std::int16_t>(count)};
}

// A workload with nodes of two GPUs.
Workload pairs(int nodes) {
    Workload workload;
    workload.nodes.assign(static_cast<std::size_t>(nodes),
                          {.cpu_milli = 1'000, .memory_mib = 1'000, .gpus = 2});
    workload.mix = {{.cpu_milli = 1, .milli = kMilliPerGpu, .count = 2, .share = 1}};
    return workload;
}

// A task on one GPU of each node; the other GPU is free from t = 10 on.
std::vector<ChurnTask> one_on_each(int nodes) {
    std::vector<ChurnTask> tasks;
    for (int i = 0; i < nodes; ++i) {
        tasks.push_back({gpus(1), 0, 100});
        tasks.push_back({gpus(1), 0, 10});
    }
    return tasks;
}

constexpr ChurnWindow kWindow{.from_s = 0, .to_s = 200, .patience_s = 50};

ChurnResult run(int nodes, const std::vector<ChurnTask>& tasks,
                const std::optional<MoveRules>& moves, const char* policy = "best-fit") {
    return churn(pairs(nodes), tasks, kWindow, **find_placement_policy(policy), {}, moves);
}

// Goal: after the waiting time a task gets room by one move. The cost for the moved task is checked
// by hand, for each checkpoint interval.
TEST(ChurnMoves, ByHand) {
    auto tasks = one_on_each(2);
    tasks.push_back({gpus(2), 20, 10});  // waits, from 25 to 35
    for (const auto& [checkpoint_s, lost] :
         {std::pair(std::numeric_limits<double>::infinity(), 25.0), std::pair(10.0, 5.0),
          std::pair(100.0, 25.0), std::pair(0.0, 0.0)}) {
        const ChurnResult result =
            run(2, tasks, MoveRules{.after_s = 5, .most_moves = 1, .checkpoint_s = checkpoint_s});
        ASSERT_TRUE(result.moves);
        EXPECT_EQ(result.moves->evictions, 1U);
        EXPECT_EQ(result.moves->placed, 5U);
        EXPECT_DOUBLE_EQ(result.moves->lost_work, lost / (4 * 200));
        EXPECT_EQ(result.moves->helped, (std::array<std::size_t, kChurnSizes>{0, 0, 1, 0, 0}));
        EXPECT_EQ(result.moves->deviations, 0U);
        EXPECT_DOUBLE_EQ(result.tasks.mean_wait_s, 5 / 5.0);
        EXPECT_DOUBLE_EQ(result.tasks.abandoned_demand, 0);
        EXPECT_DOUBLE_EQ(result.allocated, (2 * 10 + 2 * 10 + 2 * 100 + lost) / (4 * 200));
    }
    const ChurnResult off = run(2, tasks, std::nullopt);
    EXPECT_FALSE(off.moves);
    EXPECT_DOUBLE_EQ(off.tasks.mean_wait_s, 50 / 5.0) << "it gave up";
}

// Goal: tasks that are moved and lose no work end when they would have ended without moves, all at
// the end of their first runs, and each once.
TEST(ChurnMoves, EndWhenTheyWouldHave) {
    constexpr int kNodes = 12;
    auto tasks = one_on_each(kNodes);
    for (int i = 0; i < kNodes / 2; ++i)
        tasks.push_back({gpus(2), 20, 100});  // waits, from 25 to 125
    for (const double checkpoint_s : {0.0, 1.0, 5.0}) {
        const ChurnResult result = run(
            kNodes, tasks, MoveRules{.after_s = 5, .most_moves = 1, .checkpoint_s = checkpoint_s});
        EXPECT_EQ(result.moves->evictions, kNodes / 2U);
        EXPECT_DOUBLE_EQ(result.moves->lost_work, 0);
        EXPECT_DOUBLE_EQ(result.allocated,
                         (kNodes * 10 + kNodes * 100 + kNodes * 100) / (2 * kNodes * 200.0));
    }
}

// A few tasks of one to three GPUs, at whole seconds, so that many events coincide.
std::vector<ChurnTask> any_tasks() {
    const auto tasks = *rc::gen::container<std::vector<std::tuple<int, int, int>>>(
        rc::gen::tuple(rc::gen::inRange(1, 4), rc::gen::inRange(0, 40), rc::gen::inRange(0, 30)));
    std::vector<ChurnTask> out;
    for (const auto& [count, comes_s, lasts_s] : tasks)
        out.push_back({gpus(count), static_cast<double>(comes_s), static_cast<double>(lasts_s)});
    std::ranges::stable_sort(out, {}, &ChurnTask::comes_s);
    return out;
}

// Goal: whatever is moved, when and how often, all work is done once, and repeated work is reported
// as lost. Method: all tasks have the time to end.
RC_GTEST_PROP(ChurnMovesProperty, NoWorkIsForgotten, ()) {
    Workload workload = pairs(*rc::gen::inRange(1, 6));
    for (NodeShape& node : workload.nodes)
        node.gpus = 3;
    const auto tasks = any_tasks();
    double work = 0;
    for (const ChurnTask& task : tasks)
        work += task.task.count * task.lasts_s;
    const ChurnWindow window{.from_s = 0, .to_s = 1e5, .patience_s = 1e5};
    const MoveRules moves{.after_s = *rc::gen::element(1.0, 2.0, 7.0),
                          .most_moves = 3,
                          .checkpoint_s = *rc::gen::element(0.0, 0.1, 1.0, 3.0, 1e9)};
    const auto* policy = *rc::gen::element("best-fit", "binpack", "spread");
    const ChurnResult result =
        churn(workload, tasks, window, **find_placement_policy(policy), {}, moves);
    const double capacity = 3.0 * static_cast<double>(workload.nodes.size()) * window.to_s;
    RC_ASSERT(result.tasks.arrived == tasks.size());
    RC_ASSERT(std::abs((result.allocated - result.moves->lost_work) * capacity - work) < 1e-3);
}

// Goal: the mean of FGD's fragmentation over time, by hand: a single free GPU is useless if tasks
// request two.
TEST(ChurnMoves, Fragmentation) {
    auto tasks = one_on_each(2);
    tasks.push_back({gpus(2), 20, 10});
    // One free GPU on each node from 10 on; two on the second node from the time when it was
    // emptied.
    EXPECT_DOUBLE_EQ(run(2, tasks, MoveRules{.after_s = 5}).fragmentation,
                     (2 * 15 + 25) / (4 * 200.0));
    EXPECT_DOUBLE_EQ(run(2, tasks, std::nullopt).fragmentation, 2 * 90 / (4 * 200.0));
}

// Goal: no task is moved if the waiting task gives up before, if no moves help, if more moves than
// allowed would be needed, or if the place of the moved task is random.
TEST(ChurnMoves, OnlyWhereTheyAreOfUse) {
    auto tasks = one_on_each(2);
    tasks.push_back({gpus(2), 20, 10});
    EXPECT_EQ(run(2, tasks, MoveRules{.after_s = 51}).moves->evictions, 0U);
    EXPECT_EQ(run(2, tasks, MoveRules{.after_s = 5}, "random").moves->evictions, 0U);
    tasks.back().task = gpus(4);
    const ChurnResult none = run(2, tasks, MoveRules{.after_s = 5});
    EXPECT_EQ(none.moves->evictions, 0U);
    EXPECT_EQ(none.moves->plan_attempts, 10U) << "after each 5 seconds, the 50th included";
    // Two nodes of eight GPUs, each with three tasks of one GPU: one task would need all of them
    // moved.
    Workload workload = pairs(2);
    for (NodeShape& node : workload.nodes)
        node.gpus = 8;
    std::vector<ChurnTask> eights;
    for (int node = 0; node < 2; ++node) {
        for (int i = 0; i < 8; ++i)
            eights.push_back({gpus(1), 0, i < 3 ? 100.0 : 10.0});
    }
    eights.push_back({gpus(8), 20, 10});
    for (const std::size_t most : {2U, 3U}) {
        const auto result = churn(workload, eights, kWindow, **find_placement_policy("best-fit"),
                                  {}, MoveRules{.after_s = 5, .most_moves = most});
        EXPECT_EQ(result.moves->evictions, most == 3 ? 3U : 0U);
        EXPECT_EQ(result.moves->helped.at(static_cast<std::size_t>(ChurnSize::eight_or_more)),
                  most == 3 ? 1U : 0U);
    }
}

// Goal: a gang gets room for all of it, by moves for each of its pods; its own pods are never
// moved.
TEST(ChurnMoves, Gangs) {
    auto tasks = one_on_each(4);
    tasks.push_back({gpus(2), 20, 100, 2});
    const ChurnResult result = run(4, tasks, MoveRules{.after_s = 5});
    EXPECT_EQ(result.moves->evictions, 2U);
    EXPECT_EQ(result.moves->helped, (std::array<std::size_t, kChurnSizes>{0, 0, 0, 0, 1}));
    EXPECT_DOUBLE_EQ(result.gangs.mean_wait_s, 5);

    // The first tasks of each node are now of a gang of three.
    std::vector<ChurnTask> fillers = {{gpus(1), 0, 100, 2}, {gpus(1), 0, 10, 2}};
    fillers.push_back({gpus(1), 0, 100, 2});
    fillers.push_back({gpus(2), 20, 10});
    const ChurnResult stays = run(3, fillers, MoveRules{.after_s = 5});
    EXPECT_EQ(stays.moves->evictions, 0U);
}

// Goal: the same seed gives the same run on a trace, moves included. If no plan is computed in
// time, nothing is moved and nothing else changes.
TEST(ChurnMoves, FollowFromTheSeed) {
    Workload workload;
    workload.nodes.assign(40, {.cpu_milli = 64'000, .memory_mib = 256'000, .gpus = 8});
    std::vector<MixSample> samples;
    for (const int count : {1, 1, 2, 4, 8}) {
        workload.pods.push_back({gpus(count), 1'000 * count});
        samples.push_back({gpus(count), ""});
    }
    PlacementTask half = gpus(1);
    half.milli = 500;
    workload.pods.push_back({half, 3'000});
    samples.push_back({half, ""});
    workload.mix = target_mix(samples, 95);
    const auto tasks =
        churn_tasks(workload, {.load = 1, .longest_s = 8'000, .ends_s = 40'000, .seed = 3});
    ASSERT_TRUE(tasks);
    for (const char* policy : {"fgd", "binpack", "expected-fill"}) {
        const auto with = [&](const std::optional<MoveRules>& moves) {
            ChurnResult result =
                churn(workload, *tasks, {.from_s = 8'000, .to_s = 40'000, .patience_s = 3'600},
                      **find_placement_policy(policy), {.draws = 3}, moves);
            result.seconds = 0;  // by the clock
            return result;
        };
        const ChurnResult moved = with(MoveRules{.after_s = 300, .most_moves = 4});
        EXPECT_GT(moved.moves->evictions, 0U) << policy;
        EXPECT_EQ(moved.moves->deviations, 0U) << policy;
        EXPECT_EQ(moved, with(MoveRules{.after_s = 300, .most_moves = 4})) << policy;
        const ChurnResult off = with(std::nullopt);
        ChurnResult never = with(MoveRules{.after_s = 3'601});
        never.moves.reset();
        EXPECT_EQ(off, never) << policy;
        EXPECT_NE(off.allocated, moved.allocated) << policy;
    }
}

// Goal: the table, CSV and JSON have evictions and the tasks that they helped only if there are
// rules for moves.
TEST(ChurnMoves, Reports) {
    ChurnRun run{90, "A", 1, {.allocated = 0.5, .tasks = {.arrived = 7}}};
    EXPECT_EQ(churn_table(std::vector{run}).find("EVICTED"), std::string::npos);
    EXPECT_EQ(churn_csv(std::vector{run}).find("evictions"), std::string::npos);
    EXPECT_EQ(churn_json(std::vector{run}).find("evictions"), std::string::npos);
    run.result.moves =
        ChurnMoves{.placed = 2'000, .evictions = 6, .lost_work = 0.125, .helped = {0, 0, 1, 3, 0}};
    const std::string table = churn_table(std::vector{run});
    EXPECT_NE(table.find("\nmoves that made room"), std::string::npos) << table;
    EXPECT_NE(churn_csv(std::vector{run})
                  .find(",6.000000,3.000000,12.500000,37.500000,4.000000,0.000000,0.000000,1.0"),
              std::string::npos)
        << churn_csv(std::vector{run});
    const std::string json = churn_json(std::vector{run});
    for (const char* text : {R"("evictions": 6.0)", R"("evictionsPer1000Placed": 3.0)",
                             R"("lostWorkPercent": 12.5)", R"("helpedEightOrMoreGpus": 3.0)"})
        EXPECT_NE(json.find(text), std::string::npos) << json;
}

}  // namespace
}  // namespace tessera
