// The bound of the traces of testing/fixtures/openb, with the program's own solver.
#include "simulator/program/bound_command.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "adapters/os/text_file.hpp"
#include "domain/placement/engine/policy.hpp"
#include "simulator/bound/live_bound.hpp"
#include "simulator/live/dump_builders_test.hpp"
#include "simulator/replay/replay.hpp"
#include "simulator/solver/clp.hpp"

namespace tessera {
namespace {

constexpr const char* kFixture = TESSERA_SOURCE_DIR "/testing/fixtures/openb";

BoundOptions options() {
    BoundOptions options{.source = {.folder = kFixture},
                         .traces = {"multigpu40", "gpuspec25"},
                         .seeds = {42},
                         .arrivals = {100, 130},
                         .threads = 2};
    for (const PlacementPolicyRow& row : placement_policies())
        options.policies.emplace_back(row.name);
    return options;
}

std::unique_ptr<LinearProgram> clp(std::span<const LpRow> rows) {
    return make_clp(rows);
}

void no_progress(std::size_t /*done*/, std::size_t /*of*/) {}

// Goal: no replay of any policy allocates more than the bound. Keeping tasks without GPUs never
// raises it. The two figures date from when the means of five seeds agreed with an independent
// program's to 0.01.
TEST(BoundCommand, IsNeverBelowAReplay) {
    const auto runs = find_bounds(options(), read_text_file, clp, no_progress);
    ASSERT_TRUE(runs) << runs.error().text;
    ASSERT_EQ(runs->size(), 4U);
    BoundOptions kept = options();
    kept.policies.clear();
    kept.cpu_only = CpuOnlyTasks::are_kept;
    const auto lower = find_bounds(kept, read_text_file, clp, no_progress);
    ASSERT_TRUE(lower) << lower.error().text;
    for (std::size_t i = 0; i < runs->size(); ++i) {
        const BoundRun& run = (*runs)[i];
        EXPECT_LE(run.bound, run.asked);
        EXPECT_LE((*lower)[i].bound, run.bound + 1e-6);
        ASSERT_EQ(run.policies.size(), placement_policies().size());
        for (const PolicyAllocation& policy : run.policies)
            EXPECT_LE(policy.percent, run.bound) << run.name.trace << " " << policy.policy;
    }
    EXPECT_NEAR((*runs)[0].bound, 98.11, 0.02);
    EXPECT_NEAR((*runs)[2].bound, 96.89, 0.02);
}

// Goal: no policy places all tasks for longer than the bound says is possible.
TEST(BoundCommand, AllArePlacedNoLongerThanItSays) {
    BoundOptions of_all = options();
    of_all.traces = {"multigpu40"};
    of_all.arrivals = {100};
    of_all.policies.clear();
    of_all.all_placed = true;
    const auto runs = find_bounds(of_all, read_text_file, clp, no_progress);
    ASSERT_TRUE(runs) << runs.error().text;
    const auto load = load_workload(read_text_file, kFixture, {"multigpu40", 42});
    ASSERT_TRUE(load) << load.error().text;
    double gpus = 0;
    for (const NodeShape& node : load->nodes)
        gpus += node.gpus;
    for (const PlacementPolicyRow& policy : placement_policies()) {
        double allocated = 0;
        const auto placed = replay(*load, policy, {.draws = 42});
        for (std::size_t i = 0; i < placed.size() && placed[i].node >= 0; ++i)
            allocated += load->arrivals[i].milli * load->arrivals[i].count / 1000.0;
        EXPECT_LE(100 * allocated / gpus, *runs->front().all_placed) << policy.name;
    }
    EXPECT_NEAR(*runs->front().all_placed, 97.72, 0.02);
}

// Goal: a cluster without usable GPUs is reported as such, and no seed is mentioned.
TEST(BoundCommand, NoGpuInOrder) {
    ClusterDump dump{.nodes = {build::node("m", {{"T4", 16}, {"T4", 16}})},
                     .pods = {build::pod("a", 8)}};
    for (DumpGpu& gpu : dump.nodes[0].gpus)
        gpu.healthy = false;
    const auto refused = live_bound(dump, *live_cluster(dump));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(),
              (Error{Code::invalid_argument, "all of its 2 GPUs are out of order"}));
    dump.nodes[0].gpus.clear();
    BoundOptions options{.arrivals = {kAllArrivals}};
    options.subject = *live_bound(dump, *live_cluster(dump));
    const auto none = find_bounds(options, {}, clp, no_progress);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().text, "snapshot: no node has a GPU");
}

// Goal: the command line's options reach the search, and each output format is printed.
TEST(BoundCommand, ReadsItsOptions) {
    CLI::App app;
    BoundCommand command;
    add_bound_options(app, command);
    app.parse(std::string("--data ") + kFixture +
              " --trace multigpu40 --arrivals 30,40 --cpu-only-kept --policy BestFit -j 2 -o json");
    EXPECT_EQ(command.bounds.cpu_only, CpuOnlyTasks::are_kept);
    EXPECT_EQ(command.bounds.seeds, std::vector{42});
    const auto text = run_bound(command, no_progress);
    ASSERT_TRUE(text) << text.error().text;
    const auto json = nlohmann::json::parse(*text);
    EXPECT_EQ(json["bounds"][1]["arrivals"], 40);
    EXPECT_EQ(json["bounds"][1]["policies"][0]["policy"], "best-fit");
    command.output = "csv";
    EXPECT_TRUE(run_bound(command, no_progress)->starts_with("trace,seed,arrivals,"));
    command.output = "table";
    EXPECT_TRUE(run_bound(command, no_progress)->starts_with("TRACE "));
    EXPECT_THROW(app.parse("--data x --arrivals 131"), CLI::ValidationError);
}

}  // namespace
}  // namespace tessera
