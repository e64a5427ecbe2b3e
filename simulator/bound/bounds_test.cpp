// Which tasks a bound covers, their order in the results, and the reports. With a real solver:
// simulator/program/bound_command_test.cpp.
#include "simulator/bound/bounds.hpp"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "simulator/bound/bounds_report.hpp"

namespace tessera {
namespace {

// Two nodes of two GPUs; a: five tasks that request 0.5, 1, 1, 1, 1 GPUs, after one without a GPU.
Result<std::string> read_file(const std::string& path) {
    static const std::map<std::string, std::string> files = {
        {"x/openb_node_list_gpu_node.csv",
         "sn,cpu_milli,memory_mib,gpu,model\nn0,8000,1000,2,A\nn1,8000,1000,2,B\n"},
        {"x/openb_pod_list_a.csv",
         "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\np0,1000,10,0,0,\n"
         "p1,1000,10,1,500,\np2,1000,10,1,1000,\n"},
        {"x/arrivals/a.seed1.txt", "N 0 1\nP 0 1 2 2 2 2\n"},
        {"x/arrivals/a.seed2.txt", "N 1 0\nP 2 2\n"},
    };
    const auto found = files.find(path);
    if (found == files.end()) return fail(Code::not_found, path + ": there is none");
    return found->second;
}

// A solver in which everything is free: the bound is what a node's GPUs can be filled with.
class FreeOfCharge final : public LinearProgram {
  public:
    explicit FreeOfCharge(std::size_t rows) : rows_(rows) {}
    Result<LpSolution> maximise_with(std::span<const LpColumn> /*more*/) override {
        if (++calls_ > 1) return fail(Code::internal, "gave up");
        return LpSolution{.gain = 1e9, .prices = std::vector<double>(rows_)};
    }

  private:
    std::size_t rows_;
    int calls_ = 0;
};

std::unique_ptr<LinearProgram> free_of_charge(std::span<const LpRow> rows) {
    return std::make_unique<FreeOfCharge>(rows.size());
}

BoundOptions options(int threads) {
    return {.source = {.folder = "x"},
            .traces = {"a"},
            .seeds = {1, 2},
            .arrivals = {50, 100},
            .policies = {"fgd", "best-fit"},
            .threads = threads};
}

void no_progress(std::size_t /*done*/, std::size_t /*of*/) {}

// Goal: a run covers the first tasks that request at most its share of the GPUs. Bounds, and what
// policies allocate after the same tasks, are percentages of the GPUs. The order is that of the
// options.
TEST(Bounds, AreForTheFirstTasks) {
    std::size_t most_done = 0;
    const auto runs =
        find_bounds(options(1), read_file, free_of_charge,
                    [&](std::size_t done, std::size_t of) { most_done = std::max(done, of); });
    ASSERT_TRUE(runs) << runs.error().text;
    EXPECT_EQ(most_done, 2U);
    ASSERT_EQ(runs->size(), 4U);
    const BoundRun& half = (*runs)[0];
    EXPECT_EQ(half.name.seed, 1);
    EXPECT_EQ(half.arrivals, 50);
    EXPECT_EQ(half.tasks, 3U);  // a fourth would make 2.5 of 4 GPUs
    EXPECT_EQ(half.asked, 37.5);
    EXPECT_EQ(half.bound, 37.5);
    EXPECT_EQ(half.all_placed, std::nullopt);
    ASSERT_EQ(half.policies.size(), 2U);
    EXPECT_EQ(half.policies[1].policy, "best-fit");
    EXPECT_EQ(half.policies[1].percent, 37.5);
    EXPECT_EQ((*runs)[1].arrivals, 100);
    EXPECT_EQ((*runs)[1].tasks, 5U);
    EXPECT_EQ((*runs)[3].name.seed, 2);
    EXPECT_EQ((*runs)[3].tasks, 2U);
    EXPECT_EQ((*runs)[3].bound, 50.0);
}

// Goal: tasks that request exactly all GPUs, to the last thousandth, are all among the first tasks.
TEST(Bounds, AllThatFillsTheGpus) {
    const auto read = [](const std::string& path) {
        return path == "x/arrivals/a.seed1.txt" ? Result<std::string>("N 0 1\nP 2 2 1 1 2 2\n")
                                                : read_file(path);
    };
    BoundOptions exactly = options(1);
    exactly.seeds = {1};
    exactly.arrivals = {100};
    const auto runs = find_bounds(exactly, read, free_of_charge, no_progress);
    ASSERT_TRUE(runs) << runs.error().text;
    EXPECT_EQ(runs->front().tasks, 5U);
    EXPECT_EQ(runs->front().asked, 100);
}

// Goal: a value given twice counts once, so that means do not lean toward it.
TEST(Bounds, CountEachOnce) {
    BoundOptions twice = options(1);
    twice.traces = {"a", "a"};
    twice.seeds = {1, 2, 1};
    twice.arrivals = {50, 100, 50};
    const auto runs = find_bounds(twice, read_file, free_of_charge, no_progress);
    const auto once = find_bounds(options(1), read_file, free_of_charge, no_progress);
    ASSERT_TRUE(runs && once);
    EXPECT_EQ(bound_json(*runs), bound_json(*once));
}

// Goal: the results are the same with as many threads as there are runs.
TEST(Bounds, DoNotDependOnThreads) {
    const auto one = find_bounds(options(1), read_file, free_of_charge, no_progress);
    const auto many = find_bounds(options(4), read_file, free_of_charge, no_progress);
    ASSERT_TRUE(one && many);
    EXPECT_EQ(bound_json(*one), bound_json(*many));
}

// Goal: errors name what is missing, and the run in which the solver gave up.
TEST(Bounds, SayWhatIsWrong) {
    BoundOptions no_trace = options(2);
    no_trace.traces = {"b"};
    EXPECT_EQ(find_bounds(no_trace, read_file, free_of_charge, no_progress).error().text,
              "x/openb_pod_list_b.csv: there is none");
    BoundOptions no_policy = options(2);
    no_policy.policies = {"x"};
    EXPECT_EQ(find_bounds(no_policy, read_file, free_of_charge, no_progress).error().code,
              Code::not_found);
    const auto gives_up = [](std::span<const LpRow> rows) {
        auto lp = free_of_charge(rows);
        static_cast<void>(lp->maximise_with({}));
        return lp;
    };
    EXPECT_EQ(find_bounds(options(2), read_file, gives_up, no_progress).error(),
              (Error{Code::internal, "a seed 1: gave up"}));
}

std::vector<BoundRun> two_runs() {
    BoundRun first{.name = {"a", 1},
                   .arrivals = 100,
                   .tasks = 7,
                   .asked = 99.5,
                   .bound = 96.25,
                   .rounds = 3,
                   .configurations = 9,
                   .all_placed = 95.0,
                   .policies = {{"fgd", 95.0}}};
    BoundRun second = first;
    second.name.seed = 2;
    second.bound = 96.75;
    second.policies[0].percent = 95.25;
    return {first, second};
}

// Goal: the three forms have the same contents; the table has means if there are several runs of a
// kind.
TEST(Bounds, AreToldInEachForm) {
    const std::vector<BoundRun> runs = two_runs();
    EXPECT_EQ(bound_table(runs),
              "TRACE  SEED   ASKED   BOUND  ALL PLACED  POLICY   ALLOC  DISTANCE\n"
              "a         1   99.50   96.25       95.00  fgd      95.00      1.25\n"
              "a         2   99.50   96.75       95.00  fgd      95.25      1.50\n"
              "a      mean   99.50   96.50       95.00  fgd      95.12      1.38\n");
    EXPECT_EQ(bound_csv(runs),
              "trace,seed,arrivals,tasks,asked,bound,gap,all_placed,policy,allocated,distance\n"
              "a,1,100,7,99.5000,96.2500,0.0000,95.0000,fgd,95.0000,1.2500\n"
              "a,2,100,7,99.5000,96.7500,0.0000,95.0000,fgd,95.2500,1.5000\n");
    const auto json = nlohmann::json::parse(bound_json(runs));
    EXPECT_EQ(json["bounds"].size(), 2U);
    EXPECT_EQ(json["bounds"][1]["allPlaced"], 95.0);
    EXPECT_EQ(json["bounds"][1]["policies"][0]["distance"], 1.5);
    // Values that were not requested are missing.
    BoundRun bare = runs[0];
    bare.all_placed.reset();
    bare.policies.clear();
    EXPECT_EQ(bound_table(std::vector{bare}),
              "TRACE  SEED   ASKED   BOUND  ALL PLACED  POLICY   ALLOC  DISTANCE\n"
              "a         1   99.50   96.25           -  -            -         -\n");
    EXPECT_NE(bound_csv(std::vector{bare}).find(",96.2500,0.0000,,,,\n"), std::string::npos);
    EXPECT_FALSE(
        nlohmann::json::parse(bound_json(std::vector{bare}))["bounds"][0].contains("allPlaced"));
}

}  // namespace
}  // namespace tessera
