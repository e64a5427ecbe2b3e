#include "programs/bound_command.hpp"

#include <fmt/format.h>

#include <iostream>
#include <utility>

#include "adapters/lp/clp.hpp"
#include "adapters/os/text_file.hpp"
#include "app/sim/bounds_report.hpp"
#include "app/sim/live_bound.hpp"
#include "programs/common/validators.hpp"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "The bound lets a placement choose which tasks to drop, and knows all of them before the first "
    "is placed. DISTANCE is the bound less what the policy holds after the same arrivals; all "
    "figures are percent of all cards. docs/placement.md has the formula.\n\n";

// What makes the bound looser than it might be.
void note_rules(const LiveCluster& cluster) {
    if (const std::string left_out = rules_left_out(cluster); !left_out.empty())
        std::cerr << "snapshot: " << left_out << "\n";
    if (!cluster.tells_rules) std::cerr << "snapshot: tells no rules on cards (version 1)\n";
}

}  // namespace

CLI::App* add_bound(CLI::App& app, BoundCommand& command) {
    BoundOptions& bounds = command.bounds;
    bounds.traces = {"default"};
    bounds.seeds = {42};
    bounds.arrivals = {};
    CLI::App* bound = app.add_subcommand(
        "bound", "How much of the cards any placement of a trace's tasks could hold at most");
    add_source(*bound, bounds.source, command.source);
    add_trace(*bound, bounds.traces, command.source, "traces, separated by commas")->delimiter(',');
    bound->add_option("--seed", bounds.seeds, "orders of arrival, separated by commas")
        ->delimiter(',')
        ->transform(order_seed())
        ->capture_default_str();
    bound
        ->add_option("--arrivals", bounds.arrivals,
                     "for the first tasks, which ask for that many percent of the cards; several "
                     "separated by commas. Where it is left out 100; all pods of a snapshot")
        ->delimiter(',')
        ->transform(whole_number(1, kLastPercent));
    bound->add_flag_callback(
        "--cpu-only-kept", [&bounds] { bounds.cpu_only = CpuOnlyTasks::are_kept; },
        "tasks without cards may not be dropped to leave their CPU to others");
    bound->add_flag("--all-placed", bounds.all_placed,
                    "also up to which arrivals all tasks could be placed (slower)");
    bound
        ->add_option("--policy", bounds.policies,
                     "policies to compare with, separated by commas: see tessera-sim replay")
        ->delimiter(',');
    add_jobs(*bound, bounds.threads, "bounds");
    add_output(*bound, command.output);
    add_snapshot_file(*bound, command.source,
                      "All its pods, on its nodes without them; percent are of the cards in order",
                      {"--trace", "--seed", "--cpu-only-kept"});
    bound->footer(kFooter + sim_exit_statuses());
    return bound;
}

Result<std::string> run_bound(const BoundCommand& command, const Progress& progress) {
    const auto make_lp = [](std::span<const LpRow> rows) { return make_clp(rows); };
    BoundOptions options = command.bounds;
    if (command.source.snapshot.empty()) {
        TRY_VOID(read_source(command.source, options.source));
    } else {
        TRY(ClusterSnapshot snapshot, read_snapshot_file(command.source));
        TRY(LiveCluster cluster, live_cluster(snapshot));
        note_rules(cluster);
        auto subject = live_bound(std::move(snapshot), std::move(cluster));
        if (!subject) return fail(subject.error().in("snapshot"));
        options.subject = *std::move(subject);
    }
    if (options.arrivals.empty()) options.arrivals = {options.subject ? kAllArrivals : 100};
    TRY(const auto runs, find_bounds(options, read_text_file, make_lp, progress));
    if (command.output == "json") return bound_json(runs);
    if (command.output == "csv") return bound_csv(runs);
    return bound_table(runs);
}

}  // namespace tessera
