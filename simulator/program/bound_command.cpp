#include "simulator/program/bound_command.hpp"

#include <fmt/format.h>

#include <iostream>
#include <utility>

#include "adapters/os/text_file.hpp"
#include "programs/common/validators.hpp"
#include "simulator/bound/bounds_report.hpp"
#include "simulator/bound/live_bound.hpp"
#include "simulator/solver/clp.hpp"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "The bound may choose which tasks to drop, and knows all tasks before the first is placed. "
    "DISTANCE is the bound minus what the policy has allocated after the same arrivals. All "
    "figures are percentages of all GPUs. docs/placement.md has the formula.\n\n";

// Says on stderr which rules the bound leaves out; they make it looser.
void note_rules(const LiveCluster& cluster) {
    if (const std::string left_out = rules_left_out(cluster); !left_out.empty())
        std::cerr << "snapshot: " << left_out << "\n";
    if (!cluster.tells_rules) std::cerr << "snapshot: version 1 does not contain rules on GPUs\n";
}

}  // namespace

void add_bound_options(CLI::App& command, BoundCommand& options) {
    BoundOptions& bounds = options.bounds;
    bounds.traces = {"default"};
    bounds.seeds = {42};
    bounds.arrivals = {};
    add_source(command, bounds.source, options.source);
    add_trace(command, bounds.traces, options.source, "traces, separated by commas")
        ->delimiter(',');
    command.add_option("--seed", bounds.seeds, "orders of arrival, separated by commas")
        ->delimiter(',')
        ->transform(order_seed())
        ->capture_default_str();
    command
        .add_option("--arrivals", bounds.arrivals,
                    "consider only the first tasks, which request this percentage of the GPUs; "
                    "several separated by commas. Default: 100; for a snapshot, all its pods")
        ->delimiter(',')
        ->transform(whole_number(1, kLastPercent));
    command.add_flag_callback(
        "--cpu-only-kept", [&bounds] { bounds.cpu_only = CpuOnlyTasks::are_kept; },
        "do not drop tasks without GPUs to free their CPU for other tasks");
    command.add_flag("--all-placed", bounds.all_placed,
                     "also show up to which arrivals all tasks can be placed (slower)");
    command
        .add_option("--policy", bounds.policies,
                    "policies to compare with, separated by commas: see tessera-sim replay")
        ->delimiter(',');
    add_jobs(command, bounds.threads, "bounds");
    add_output(command, options.output);
    add_dump_file(command, options.source,
                  "All its pods are placed on its empty nodes; percentages are of the healthy GPUs",
                  {"--trace", "--seed", "--cpu-only-kept"});
    command.footer(kFooter + sim_exit_statuses());
}

Result<std::string> run_bound(const BoundCommand& command, const Progress& progress) {
    const auto make_lp = [](std::span<const LpRow> rows) { return make_clp(rows); };
    BoundOptions options = command.bounds;
    if (command.source.dump.empty()) {
        TRY_VOID(read_source(command.source, options.source));
    } else {
        TRY(ClusterDump dump, read_dump_file(command.source));
        TRY(LiveCluster cluster, live_cluster(dump));
        note_rules(cluster);
        auto subject = live_bound(std::move(dump), std::move(cluster));
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
