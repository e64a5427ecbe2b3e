#include "simulator/replay/sweep.hpp"

#include <gtest/gtest.h>

#include <map>
#include <new>
#include <nlohmann/json.hpp>

#include "simulator/replay/report.hpp"

namespace tessera {
namespace {

// Two nodes with a GPU each; trace "a" fits, trace "b" requests twice the cluster.
Result<std::string> read_file(const std::string& path) {
    const std::string pods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n";
    const std::map<std::string, std::string> files = {
        {"d/openb_node_list_gpu_node.csv",
         "sn,cpu_milli,memory_mib,gpu,model\nm,8000,100,1,T4\nn,8000,100,1,T4\n"},
        {"d/openb_pod_list_a.csv", pods + "p,1000,1,1,500\n"},
        {"d/openb_pod_list_b.csv", pods + "p,1000,1,1,1000\n"},
        {"d/arrivals/a.seed1.txt", "N 1 0\nP 0 0\n"},
        {"d/arrivals/b.seed1.txt", "N 1 0\nP 0 0 0 0\n"}};
    const auto found = files.find(path);
    if (found == files.end()) return fail(Code::not_found, path + ": no such file");
    return found->second;
}

SweepOptions options(int threads) {
    return {.source = {.folder = "d"},
            .traces = {"a", "b"},
            .seeds = {1},
            .policies = {"fgd", "best-fit"},
            .threads = threads};
}

// Goal: if memory runs out in one of several jobs, the caller receives the exception.
TEST(InParallel, ThrowsWhatAJobThrows) {
    for (const int threads : {1, 3}) {
        const auto job = [](std::size_t at) {
            if (at == 5) throw std::bad_alloc();
        };
        EXPECT_THROW(in_parallel(100, threads, job), std::bad_alloc) << threads;
    }
}

// Goal: all runs come in the requested order, with any number of threads, and each is reported.
TEST(Sweep, KeepsTheOrder) {
    for (const int threads : {1, 3, 9}) {
        std::size_t calls = 0;
        const auto runs = sweep(options(threads), read_file, [&](std::size_t done, std::size_t of) {
            EXPECT_EQ(done, calls++);
            EXPECT_EQ(of, 4U);
        });
        ASSERT_TRUE(runs) << runs.error().text;
        ASSERT_EQ(runs->size(), 4U);
        EXPECT_EQ(calls, 5U) << "before the first, and after each";
        const char* const expected[][2] = {
            {"a", "fgd"}, {"a", "best-fit"}, {"b", "fgd"}, {"b", "best-fit"}};
        for (std::size_t i = 0; i < runs->size(); ++i) {
            const SimRun& run = (*runs)[i];
            EXPECT_EQ(run.name.trace, expected[i][0]);
            EXPECT_EQ(run.policy, expected[i][1]);
            EXPECT_EQ(run.dropped, i < 2 ? 0U : 2U);
            EXPECT_EQ(run.curve[i < 2 ? 50 : 100].allocation, i < 2 ? 50 : 100);
        }
    }
}

// Goal: a value given twice is one run.
TEST(Sweep, CountsEachOnce) {
    SweepOptions twice = options(2);
    twice.traces = {"b", "a", "b"};
    twice.seeds = {1, 1};
    const auto runs = sweep(twice, read_file, [](std::size_t, std::size_t) {});
    ASSERT_TRUE(runs) << runs.error().text;
    ASSERT_EQ(runs->size(), 4U);
    EXPECT_EQ(runs->front().name.trace, "b");
    EXPECT_EQ(runs->back().name.trace, "a");
}

// Goal: nothing runs if a file or a policy is missing.
TEST(Sweep, RefusesWhatIsNotThere) {
    const auto never = [](std::size_t, std::size_t) { FAIL() << "a run was made"; };
    SweepOptions missing = options(1);
    missing.seeds = {1, 2};
    EXPECT_EQ(sweep(missing, read_file, never).error(),
              (Error{Code::not_found, "d/arrivals/a.seed2.txt: no such file"}));
    missing = options(1);
    missing.policies.emplace_back("best");
    EXPECT_EQ(sweep(missing, read_file, never).error().code, Code::not_found);
}

// Goal: with fewer nodes the same tasks arrive, and allocation is a percentage of the remaining
// GPUs.
TEST(Sweep, DoesWithoutNodes) {
    SweepOptions fewer = options(1);
    fewer.source.without = {{1, "T4"}};
    const auto runs = sweep(fewer, read_file, [](std::size_t, std::size_t) {});
    ASSERT_TRUE(runs) << runs.error().text;
    EXPECT_EQ(runs->at(0).nodes, 1U);
    EXPECT_EQ(runs->at(0).dropped, 0U);
    EXPECT_EQ(runs->at(0).curve[100].allocation, 100);
    EXPECT_EQ(runs->at(2).arrivals, 4U);
    EXPECT_EQ(runs->at(2).dropped, 3U);
    fewer.source.without = {{0, "o"}};
    EXPECT_EQ(sweep(fewer, read_file, {}).error().code, Code::not_found);
}

// Goal: the three forms of a report have the same contents.
TEST(Report, SaysTheSameInEachForm) {
    auto runs = sweep(options(1), read_file, [](std::size_t, std::size_t) {});
    ASSERT_TRUE(runs);
    runs->resize(1);
    runs->front().seconds = 0.5;
    EXPECT_EQ(run_table(*runs),
              "TRACE  POLICY        SEED  ARRIVALS  DROPPED  ALLOC@100%  ALLOC@130%   FRAG@100%  "
              "DECISIONS/S\n"
              "a      fgd              1         2        0           -           -           -  "
              "          4\n");
    EXPECT_EQ(run_csv(*runs),
              "trace,policy,seed,percent,allocation,fragmentation,ratio\n"
              "a,fgd,1,25,25.0000,0.0000,0.0000\n"
              "a,fgd,1,50,50.0000,0.0000,0.0000\n");
    const auto json = nlohmann::json::parse(run_json(*runs));
    EXPECT_EQ(json["runs"][0]["policy"], "fgd");
    EXPECT_EQ(json["runs"][0]["decisionsPerSecond"], 4.0);
    EXPECT_EQ(json["runs"][0]["curve"].size(), 2U);
    EXPECT_EQ(json["runs"][0]["curve"][1]["allocation"], 50.0);
}

}  // namespace
}  // namespace tessera
