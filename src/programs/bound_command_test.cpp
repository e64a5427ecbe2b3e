// The bound of the traces of testing/fixtures/openb, with the solver that the program has.
#include "programs/bound_command.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "adapters/lp/clp.hpp"
#include "adapters/os/text_file.hpp"
#include "app/sim/live_bound.hpp"
#include "app/sim/replay.hpp"
#include "app/sim/snapshot_builders_test.hpp"
#include "domain/placement/fleet/policy.hpp"

namespace tessera {
namespace {

constexpr const char* kFixture = TESSERA_SOURCE_DIR "/testing/fixtures/openb";

BoundOptions options() {
    BoundOptions options{.source = {.folder = kFixture},
                         .traces = {"multigpu40", "gpuspec25"},
                         .seeds = {42},
                         .arrivals = {100, 130},
                         .threads = 2};
    for (const FleetPolicyRow& row : fleet_policies())
        options.policies.emplace_back(row.name);
    return options;
}

std::unique_ptr<LinearProgram> clp(std::span<const LpRow> rows) {
    return make_clp(rows);
}

void no_progress(std::size_t /*done*/, std::size_t /*of*/) {}

// Goal: no replay of any policy holds more than the bound; tasks without cards that are kept never
// raise it. The two figures are those found when the means of five seeds agreed with an independent
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
        ASSERT_EQ(run.policies.size(), fleet_policies().size());
        for (const PolicyHeld& policy : run.policies)
            EXPECT_LE(policy.percent, run.bound) << run.name.trace << " " << policy.policy;
    }
    EXPECT_NEAR((*runs)[0].bound, 98.11, 0.02);
    EXPECT_NEAR((*runs)[2].bound, 96.89, 0.02);
}

// Goal: no policy places all tasks for longer than is possible.
TEST(BoundCommand, AllArePlacedNoLongerThanItSays) {
    BoundOptions asked = options();
    asked.traces = {"multigpu40"};
    asked.arrivals = {100};
    asked.policies.clear();
    asked.all_placed = true;
    const auto runs = find_bounds(asked, read_text_file, clp, no_progress);
    ASSERT_TRUE(runs) << runs.error().text;
    const auto load = load_workload(read_text_file, kFixture, {"multigpu40", 42});
    ASSERT_TRUE(load) << load.error().text;
    double cards = 0;
    for (const NodeShape& node : load->nodes)
        cards += node.cards;
    for (const FleetPolicyRow& policy : fleet_policies()) {
        double held = 0;
        const auto placed = replay(*load, policy, {.draws = 42});
        for (std::size_t i = 0; i < placed.size() && placed[i].node >= 0; ++i)
            held += load->arrivals[i].milli * load->arrivals[i].count / 1000.0;
        EXPECT_LE(100 * held / cards, *runs->front().all_placed) << policy.name;
    }
    EXPECT_NEAR(*runs->front().all_placed, 97.72, 0.02);
}

// Goal: a cluster on which nothing can be held is said to be one, and no seed is spoken of.
TEST(BoundCommand, NoCardInOrder) {
    ClusterSnapshot snapshot{.nodes = {build::node("m", {{"T4", 16}, {"T4", 16}})},
                             .pods = {build::pod("a", 8)}};
    for (SnapshotCard& card : snapshot.nodes[0].cards)
        card.healthy = false;
    const auto refused = live_bound(snapshot, *live_cluster(snapshot));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(),
              (Error{Code::invalid_argument, "all of its 2 cards are out of order"}));
    snapshot.nodes[0].cards.clear();
    BoundOptions options{.arrivals = {kAllArrivals}};
    options.subject = *live_bound(snapshot, *live_cluster(snapshot));
    const auto none = find_bounds(options, {}, clp, no_progress);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().text, "snapshot: no node has a card");
}

// Goal: the options of the command line reach the finder, and the forms come out.
TEST(BoundCommand, ReadsItsOptions) {
    CLI::App app;
    BoundCommand command;
    const CLI::App* bound = add_bound(app, command);
    app.parse(std::string("bound --data ") + kFixture +
              " --trace multigpu40 --arrivals 30,40 --cpu-only-kept --policy BestFit -j 2 -o json");
    EXPECT_TRUE(bound->parsed());
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
    EXPECT_THROW(app.parse("bound --data x --arrivals 131"), CLI::ValidationError);
}

}  // namespace
}  // namespace tessera
