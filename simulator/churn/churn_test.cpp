#include "simulator/churn/churn.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "simulator/churn/churn_sweep.hpp"
#include "simulator/churn/waiting_line.hpp"

namespace tessera {
namespace {

PlacementTask gpus(int count, int milli = kMilliPerGpu) {
    return {.cpu_milli = 1,
            .memory_mib = 1,
            .milli = static_cast<std::int16_t>(milli),
            .count = static_cast<std::int16_t>(count)};
}

// A workload with one node of two GPUs.
Workload small() {
    Workload workload;
    workload.nodes = {{.cpu_milli = 1'000, .memory_mib = 1'000, .gpus = 2, .model = 0}};
    workload.pods = {{gpus(1), 100}, {gpus(1, 500), 1'000}, {gpus(2), 10}};
    return workload;
}

ChurnResult run(const std::vector<ChurnTask>& tasks, const ChurnWindow& window) {
    return churn(small(), tasks, window, **find_placement_policy("best-fit"), {});
}

// Goal: the figures of a run that is small enough to check by hand.
TEST(Churn, ByHand) {
    const ChurnResult result = run({{gpus(2), 10, 20},  // from 10 to 30
                                    {gpus(1), 20, 10},  // waits, from 30 to 40
                                    {gpus(2), 25, 10},  // waits, from 40 to 50
                                    {gpus(1), 26, 3}},  // goes before it, from 30 to 33
                                   {.from_s = 0, .to_s = 100, .patience_s = 50});
    EXPECT_EQ(result.tasks.arrived, 4U);
    EXPECT_DOUBLE_EQ(result.allocated, (2 * 20 + 10 + 3 + 2 * 10) / (2 * 100.0));
    EXPECT_DOUBLE_EQ(result.tasks.mean_wait_s, (0 + 10 + 15 + 4) / 4.0);
    EXPECT_DOUBLE_EQ(result.tasks.waited, 0.75);
    EXPECT_DOUBLE_EQ(result.tasks.abandoned_demand, 0);
}

// Goal: a task gives up after its patience, and its request is counted as refused. Tasks before or
// after the window take GPUs and are not counted.
TEST(Churn, WhoGivesUp) {
    const ChurnResult result = run({{gpus(2), 0, 40},    // before
                                    {gpus(1), 10, 10},   // gives up at 30
                                    {gpus(1), 35, 10},   // waits 5
                                    {gpus(2), 70, 10}},  // after
                                   {.from_s = 5, .to_s = 50, .patience_s = 20});
    EXPECT_EQ(result.tasks.arrived, 2U);
    EXPECT_DOUBLE_EQ(result.tasks.abandoned_demand, 0.5);
    EXPECT_DOUBLE_EQ(result.tasks.mean_wait_s, (20 + 5) / 2.0);
    EXPECT_DOUBLE_EQ(result.allocated, (2 * 35 + 1 * 10) / (2 * 45.0));
}

// Goal: a task without patience that fits nowhere counts as waiting; of a hundred waits the 99th is
// the P99.
TEST(Churn, WhoWaited) {
    const ChurnResult at_once = run({{gpus(2), 10, 20}, {gpus(1), 15, 1}, {gpus(1), 40, 1}},
                                    {.from_s = 0, .to_s = 100, .patience_s = 0});
    EXPECT_DOUBLE_EQ(at_once.tasks.waited, 1 / 3.0);
    EXPECT_DOUBLE_EQ(at_once.tasks.mean_wait_s, 0);
    EXPECT_DOUBLE_EQ(at_once.tasks.abandoned_demand, 1 / 4.0);
    // They arrive one second apart and run for two, one after the other from 101 on: waits of 100
    // to 199.
    std::vector<ChurnTask> tasks = {{gpus(1), 0, 1'000}, {gpus(1), 0, 101}};
    for (int i = 0; i < 100; ++i)
        tasks.push_back({gpus(1), 1.0 + i, 2});
    const ChurnResult many = run(tasks, {.from_s = 0.5, .to_s = 100.5, .patience_s = 1'000});
    EXPECT_EQ(many.tasks.arrived, 100U);
    EXPECT_DOUBLE_EQ(many.tasks.mean_wait_s, 149.5);
    EXPECT_DOUBLE_EQ(many.tasks.p99_wait_s, 198);
    // Of two waits, 99 percent are both.
    const ChurnResult two =
        run({{gpus(2), 0, 20}, {gpus(2), 15, 1}}, {.from_s = 0, .to_s = 100, .patience_s = 50});
    EXPECT_DOUBLE_EQ(two.tasks.p99_wait_s, 5);
}

// Goal: a task that may not share a node with another instance of its application waits until that
// instance ends, and does not delay other applications.
TEST(Churn, CapsOfApplications) {
    const NodeCap one{.app = 0, .most = 1};
    const ChurnResult result = run({{gpus(1), 10, 20, 1, one},
                                    {gpus(1), 15, 10, 1, one},  // waits for 15 seconds
                                    {gpus(1), 16, 4, 1, {.app = 1, .most = 1}}},
                                   {.from_s = 0, .to_s = 100, .patience_s = 50});
    EXPECT_DOUBLE_EQ(result.tasks.mean_wait_s, 15.0 / 3);
    EXPECT_DOUBLE_EQ(result.allocated, (20 + 10 + 4) / (2 * 100.0));
}

// Goal: a gang waits for room for all its pods, lets later tasks run before it, is counted
// separately, and gives up as a whole.
TEST(Churn, Gangs) {
    std::vector<ChurnTask> tasks = {{gpus(1), 10, 20},   // from 10 to 30
                                    {gpus(1), 15, 10},   // of two: waits, from 30 to 40
                                    {gpus(1), 16, 4},    // goes before it, from 16 to 20
                                    {gpus(1), 45, 10},   // of three: gives up at 95
                                    {gpus(1), 50, 10}};  // from 50 to 60
    tasks[1].gang = 2;
    tasks[3].gang = 3;
    const ChurnResult result = run(tasks, {.from_s = 0, .to_s = 100, .patience_s = 50});
    EXPECT_EQ(result.tasks.arrived, 3U);
    EXPECT_DOUBLE_EQ(result.tasks.waited, 0);
    EXPECT_EQ(result.gangs.arrived, 2U);
    EXPECT_DOUBLE_EQ(result.gangs.waited, 1);
    EXPECT_DOUBLE_EQ(result.gangs.mean_wait_s, (15 + 50) / 2.0);
    EXPECT_DOUBLE_EQ(result.gangs.abandoned_demand, 3 / 5.0);
    EXPECT_DOUBLE_EQ(result.allocated, (20 + 2 * 10 + 4 + 10) / (2 * 100.0));
    const std::vector<ChurnRun> runs = {{90, "A", 1, result}, {90, "B", 1, result}};
    EXPECT_NE(churn_table(runs).find("   90  A gangs           2 "), std::string::npos)
        << churn_table(runs);
    EXPECT_NE(churn_csv(runs).find(",gangsArrived,waitedPercentOfGangs,"), std::string::npos);
    EXPECT_NE(churn_json(runs).find(R"("gangs": {)"), std::string::npos);
}

// Goal: the tasks request the given load from the start on, and are determined by the seed.
TEST(Churn, TasksRequestTheLoad) {
    const ChurnOptions options{.load = 0.5, .longest_s = 500, .ends_s = 1e6, .seed = 1};
    const auto tasks = churn_tasks(small(), options);
    ASSERT_TRUE(tasks) << tasks.error().text;
    double asked = 0;
    double last = 0;
    for (const ChurnTask& task : *tasks) {
        EXPECT_GE(task.comes_s, last);
        EXPECT_GT(task.lasts_s, 0);
        EXPECT_LE(task.lasts_s, 500);
        last = task.comes_s;
        asked += task.task.milli / 1000.0 * task.task.count * task.lasts_s;
    }
    EXPECT_NEAR(asked / 1e6, 1.0, 0.05) << "half of two GPUs";
    EXPECT_EQ(*tasks, *churn_tasks(small(), options));
    Workload untold = small();
    for (TimedTask& pod : untold.pods)
        pod.lasts_s.reset();
    const auto none = churn_tasks(untold, options);
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().text.find("has no times"), std::string::npos);
    Workload without = small();
    for (TimedTask& pod : without.pods)
        pod.task.count = pod.task.milli = 0;
    const auto no_gpu = churn_tasks(without, options);
    ASSERT_FALSE(no_gpu);
    EXPECT_EQ(no_gpu.error().text, "no pod of the trace requests a GPU");
}

// Goal: too many tasks are refused before any of them is made.
TEST(Churn, RefusesMoreTasksThanItHolds) {
    // One of each requests 370 GPU-seconds; the load is half of two GPUs.
    ChurnOptions options{.load = 0.5, .longest_s = 500, .seed = 1};
    options.ends_s = kMostChurnTasks / 3 * 370 + 10'000;
    const auto refused = churn_tasks(small(), options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::invalid_argument);
    EXPECT_EQ(refused.error().text,
              "about 50000083 tasks would arrive, and at most 50000000 are supported; set fewer "
              "--days, or a shorter --longest");
    options.ends_s -= 20'000;
    EXPECT_TRUE(check_churn_tasks(small(), options));
}

// Goal: at the start there are as many tasks of each pod as in the mean, in random order, each with
// part of its run time behind it.
TEST(Churn, TasksThatAreThereFromTheStart) {
    Workload workload = small();
    workload.nodes[0].gpus = 2'000;
    const auto tasks = churn_tasks(workload, {.load = 1, .longest_s = 500, .ends_s = 0, .seed = 1});
    ASSERT_TRUE(tasks) << tasks.error().text;
    std::map<int, std::pair<int, double>> seen;  // by milli of the task: how many, and their time
    int changes = 0;
    for (std::size_t i = 0; i < tasks->size(); ++i) {
        const ChurnTask& task = (*tasks)[i];
        EXPECT_EQ(task.comes_s, 0);
        auto& [count, left_s] = seen[milli_of(task.task)];
        ++count;
        left_s += task.lasts_s;
        changes += i > 0 && task.task != (*tasks)[i - 1].task ? 1 : 0;
    }
    // One of each requests 370 GPU-seconds: 100 s of a GPU, 500 s of half a GPU, 10 s of two GPUs.
    const double score = 2'000 / 370.0;
    for (const auto& [milli, lasts_s] : {std::pair(1'000, 100), {500, 500}, {2'000, 10}}) {
        const double mean = score * lasts_s;
        const auto [count, left_s] = seen[milli];
        EXPECT_NEAR(count, mean, 4 * std::sqrt(mean)) << milli;
        EXPECT_NEAR(left_s / count, lasts_s / 2.0, 0.3 * lasts_s / std::sqrt(count) * 4) << milli;
    }
    EXPECT_GT(changes, 100);
}

// Goal: for a trace as recorded, each pod arrives once, at its time and for its run time; a gang
// arrives with its last pod. A pod that never ended stays, and one that ended in the second of its
// arrival ends then.
TEST(Churn, TasksAsRecorded) {
    Workload workload = small();
    workload.pods = {{.task = gpus(1), .lasts_s = 100, .came_s = 1'050},
                     {.task = gpus(2), .came_s = 1'020},
                     {.task = gpus(2), .lasts_s = 0, .came_s = 1'030},
                     {.task = gpus(1), .lasts_s = 10, .gang = 2, .came_s = 1'000},
                     {.task = gpus(1), .lasts_s = 10, .gang = 0, .came_s = 1'000}};
    const auto tasks = recorded_tasks(workload);
    ASSERT_TRUE(tasks) << tasks.error().text;
    EXPECT_EQ(*tasks, (std::vector<ChurnTask>{{gpus(1), 0, 10, 2},
                                              {gpus(2), 20, 130, 1},
                                              {gpus(2), 30, 0, 1},
                                              {gpus(1), 50, 100, 1}}));
    workload.pods[1].came_s.reset();
    const auto untold = recorded_tasks(workload);
    ASSERT_FALSE(untold);
    EXPECT_NE(untold.error().text.find("has no arrival times of its pods"), std::string::npos);
}

// Goal: for a trace as recorded, the whole time is measured, to the end of its last pod and not
// only to its arrival.
TEST(Churn, MeasuresTheWholeTraceAsRecorded) {
    const auto allocated_of = [](const std::string& times) {
        const auto read = [&](const std::string& path) -> Result<std::string> {
            if (path.find("node_list") != std::string::npos)
                return "sn,cpu_milli,memory_mib,gpu,model\nn,8000,100,1,T4\n";
            if (path.find("arrivals") != std::string::npos) return "N 0\nP 0 1\n";
            return "cpu_milli,memory_mib,num_gpu,gpu_milli,name,creation_time,scheduled_time,"
                   "deletion_time\n" +
                   times;
        };
        const auto runs = churn_sweep({.source = {.folder = "d"},
                                       .trace = {"a", 1},
                                       .loads = {kAsRecorded},
                                       .policies = {"best-fit"},
                                       .seeds = 1},
                                      read, [](std::size_t, std::size_t) {});
        EXPECT_TRUE(runs) << runs.error().text;
        EXPECT_EQ(runs->front().result.tasks.arrived, 2U);
        return runs->front().result.allocated;
    };
    EXPECT_NEAR(allocated_of("1,1,1,500,a,0,0,1\n1,1,1,500,b,10,10,1010\n"), 0.5 * 1001 / 1010,
                1e-9);
    EXPECT_NEAR(allocated_of("1,1,1,500,a,7,7,17\n1,1,1,500,b,7,7,27\n"), 0.75, 1e-9);
}

// The files of a trace of one pod, and of one node of four GPUs.
Result<std::string> read_one_pod(const std::string& path) {
    if (path.find("node_list") != std::string::npos)
        return "sn,cpu_milli,memory_mib,gpu,model\nn,8000,100,4,T4\n";
    if (path.find("arrivals") != std::string::npos) return "N 0\nP 0\n";
    return "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,scheduled_time,"
           "deletion_time\np,1,1,1,1000,0,0,10\n";
}

// Goal: as recorded there is one run for any number of seeds, without an interval, unless the
// policy breaks ties at random.
TEST(Churn, PlaysOneSeedAsRecorded) {
    const auto runs = churn_sweep({.source = {.folder = "d"},
                                   .trace = {"a", 1},
                                   .loads = {50, kAsRecorded},
                                   .policies = {"best-fit", "random"},
                                   .seeds = 3,
                                   .longest_s = 10,
                                   .days = 0.01},
                                  read_one_pod, [](std::size_t, std::size_t) {});
    ASSERT_TRUE(runs) << runs.error().text;
    std::vector<std::tuple<int, std::string, std::uint64_t>> found;
    for (const ChurnRun& run : *runs) {
        if (run.load == kAsRecorded) found.emplace_back(run.load, run.policy, run.seed);
        EXPECT_GT(run.result.tasks.arrived, 0U);
    }
    EXPECT_EQ(found, (std::vector<std::tuple<int, std::string, std::uint64_t>>{
                         {kAsRecorded, "best-fit", 1},
                         {kAsRecorded, "random", 1},
                         {kAsRecorded, "random", 2},
                         {kAsRecorded, "random", 3}}));
    EXPECT_EQ(runs->size(), 10U);
    const std::string text = churn_table(*runs);
    const std::size_t line = text.find("as-recorded  best-fit");
    ASSERT_NE(line, std::string::npos) << text;
    EXPECT_EQ(text.substr(line, text.find('\n', line) - line).find("±"), std::string::npos) << text;
    EXPECT_EQ(text.find("of one seed"), std::string::npos) << text;
}

// Goal: room is offered to the first task that fits, and equal tasks keep their order.
TEST(WaitingLine, Order) {
    const std::vector<ChurnTask> tasks = {
        {gpus(2), 1, 1}, {gpus(1), 2, 1}, {gpus(1), 3, 1}, {gpus(2), 4, 1}};
    const std::vector<NodeShape> nodes = {{.cpu_milli = 9, .memory_mib = 9, .gpus = 2}};
    PlacementEngine engine(nodes);
    engine.place(0, gpus(1), 1);
    WaitingLine line(tasks);
    for (std::size_t i = 0; i < tasks.size(); ++i)
        line.add(i);
    std::vector<std::size_t> placed;
    line.place_waiting_on(engine, 0, [&](std::size_t task) {
        placed.push_back(task);
        engine.place(0, tasks[task].task, 2);
        return true;
    });
    EXPECT_EQ(placed, (std::vector<std::size_t>{1}));
    EXPECT_EQ(line.size(), 3U);
    EXPECT_EQ(line.pop_arrived_before(1), std::nullopt) << "not before it arrived";
    EXPECT_EQ(line.pop_arrived_before(3.5), 0U);
    EXPECT_EQ(line.pop_arrived_before(3.5), 2U);
    EXPECT_EQ(line.pop_arrived_before(3.5), std::nullopt);
}

// Goal: means, and differences seed by seed, checked by hand.
TEST(Churn, Table) {
    std::vector<ChurnRun> runs;
    for (const std::string policy : {"A", "B"}) {
        for (const double more : {0.0, 0.01}) {
            runs.push_back(
                {90,
                 policy,
                 1,
                 {.allocated = (policy == "A" ? 0.5 : 0.6) + more, .tasks = {.arrived = 7}}});
        }
    }
    const std::string text = churn_table(runs);
    EXPECT_NE(text.find("50.500 ±6.353"), std::string::npos) << text;
    EXPECT_NE(text.find("difference to A, seed by seed"), std::string::npos);
    EXPECT_NE(text.find("10.000 ±0.000"), std::string::npos) << text;
    EXPECT_NE(churn_csv(runs).find("90,B,1,7,61.0"), std::string::npos) << churn_csv(runs);
    EXPECT_NE(churn_json(runs).find(R"("allocatedPercent": 50.0)"), std::string::npos);
}

// Goal: a panel per figure, and a line per policy through the means with their intervals; panels
// for moves and gangs only if there are any. An as-recorded run has no load and is left out.
TEST(Churn, Plot) {
    std::vector<ChurnRun> runs;
    for (const int load : {90, 100, kAsRecorded}) {
        for (const double allocated : {0.5, 0.6})
            runs.push_back({load, "A", 1, {.allocated = allocated}});
    }
    const Chart chart = churn_chart(runs);
    EXPECT_EQ(chart.ticks, (std::vector{90, 100}));
    ASSERT_EQ(chart.panels.size(), 5U);
    const ChartPanel& allocated = chart.panels[0];
    ASSERT_EQ(allocated.lines.size(), 1U);
    EXPECT_EQ(allocated.lines[0].first, "A");
    ASSERT_EQ(allocated.lines[0].second.size(), 2U) << "two loads";
    EXPECT_EQ(allocated.lines[0].second[0].across, 90);
    EXPECT_NEAR(allocated.lines[0].second[0].up, 55, 1e-9);
    EXPECT_TRUE(allocated.lines[0].second[0].half.has_value());
    for (ChurnRun& run : runs)
        run.result.moves.emplace();
    EXPECT_EQ(churn_chart(runs).panels.size(), 7U);
    for (ChurnRun& run : runs)
        run.result.gangs = {
            .arrived = 2, .mean_wait_s = 30, .waited = 0.5, .abandoned_demand = 0.25};
    const Chart with_gangs = churn_chart(runs);
    ASSERT_EQ(with_gangs.panels.size(), 10U);
    for (const auto& [panel, title, up] :
         {std::tuple(5, "gangs that waited", 50.0), std::tuple(6, "mean wait of gangs", 30.0),
          std::tuple(7, "demand of gangs that gave up", 25.0)}) {
        const ChartPanel& of_gangs = with_gangs.panels[static_cast<std::size_t>(panel)];
        EXPECT_EQ(of_gangs.title, title);
        EXPECT_EQ(of_gangs.lines[0].second[0].up, up);
    }
    EXPECT_TRUE(churn_chart({}).panels.empty());
    EXPECT_NE(churn_csv(runs).find("\nas-recorded,A,1,"), std::string::npos);
    EXPECT_NE(churn_json(runs).find(R"("load": "as-recorded")"), std::string::npos);
}

// Goal: the number of arrivals is a mean like all other figures, for tasks and for gangs.
TEST(Churn, TableTellsHowManyCameInTheMean) {
    std::vector<ChurnRun> runs;
    for (const std::size_t arrived : {10U, 14U})
        runs.push_back(
            {90, "A", arrived, {.tasks = {.arrived = arrived}, .gangs = {.arrived = arrived / 2}}});
    const std::string text = churn_table(runs);
    EXPECT_NE(text.find("   90  A                12 "), std::string::npos) << text;
    EXPECT_NE(text.find("   90  A gangs           6 "), std::string::npos) << text;
}

// Goal: a sweep reports its progress within runs too, never decreasing, and complete at the end.
TEST(Churn, SweepTellsHowFarItIs) {
    for (const int threads : {1, 3}) {
        std::vector<std::size_t> progress;
        const auto runs = churn_sweep({.source = {.folder = "d"},
                                       .trace = {"a", 1},
                                       .loads = {50},
                                       .policies = {"best-fit"},
                                       .seeds = 2,
                                       .longest_s = 10,
                                       .days = 0.1,
                                       .threads = threads},
                                      read_one_pod, [&](std::size_t done, std::size_t of) {
                                          EXPECT_EQ(of, 200U);
                                          progress.push_back(done);
                                      });
        ASSERT_TRUE(runs) << runs.error().text;
        EXPECT_EQ(runs->size(), 2U);
        EXPECT_GT(progress.size(), 100U);
        EXPECT_TRUE(std::ranges::is_sorted(progress));
        EXPECT_EQ(progress.back(), 200U);
    }
}

// Goal: a table of one seed has no interval and says so; a table of one policy has no differences.
TEST(Churn, TableOfOneSeedAndOnePolicy) {
    const std::vector<ChurnRun> runs = {{90, "A", 1, {.allocated = 0.5, .tasks = {.arrived = 7}}}};
    const std::string text = churn_table(runs);
    EXPECT_NE(text.find(" 50.000 "), std::string::npos) << text;
    EXPECT_EQ(text.find("±"), std::string::npos) << text;
    EXPECT_EQ(text.find("difference"), std::string::npos) << text;
    EXPECT_NE(text.find("\nintervals need more than one seed"), std::string::npos) << text;
}

}  // namespace
}  // namespace tessera
