#include "simulator/program/replay_command.hpp"

#include <fmt/format.h>

#include "programs/common/validators.hpp"
#include "simulator/live/live_report.hpp"
#include "simulator/program/plot_option.hpp"
#include "simulator/replay/report.hpp"

namespace tessera {
namespace {

std::string policy_help() {
    std::string text = "Policies:\n";
    for (const PlacementPolicyRow& row : placement_policies())
        text += fmt::format("  {:<25}{}\n", row.name, row.summary);
    return text + "\n" + sim_exit_statuses();
}

PlotOptions plot_options(const ReplayCommand& command) {
    PlotOptions options{.from = command.plot_from};
    for (const PlotMetric& metric : kPlotMetrics) {
        if (metric.name == command.plot_metric) options.metric = metric;
    }
    return options;
}

Result<std::string> run_snapshot_replay(const ReplayCommand& command, const Progress& progress) {
    if (command.sweep.seeds.size() > 1) {
        return fail(Code::invalid_argument,
                    "--seed: the pods of a snapshot have one order; give one seed, for random "
                    "choices");
    }
    TRY(const ClusterDump dump, read_dump_file(command.source));
    const LiveOptions options{
        .policies = command.sweep.policies,
        .seeds = {.draws = command.sweep.seeds.front(), .sampling = command.sweep.sampling_seed},
        .threads = command.sweep.threads};
    TRY(const LiveReport report, replay_live(dump, options, progress));
    if (command.output == "json") return live_json(report);
    if (command.output == "csv") return live_csv(report);
    return live_table(report);
}

}  // namespace

void add_replay_options(CLI::App& command, ReplayCommand& options) {
    SweepOptions& sweep = options.sweep;
    sweep.traces = {"default"};
    sweep.seeds = {42};
    sweep.policies = {"fgd"};
    add_source(command, sweep.source, options.source);
    add_trace(command, sweep.traces, options.source, "traces, separated by commas")->delimiter(',');
    command.add_option("--seed", sweep.seeds, "orders of arrival, separated by commas")
        ->delimiter(',')
        ->transform(order_seed())
        ->capture_default_str();
    command.add_option("--policy", sweep.policies, "policies, separated by commas")
        ->delimiter(',')
        ->capture_default_str();
    add_sampling_seed(command, sweep.sampling_seed);
    add_jobs(command, sweep.threads, "replays");
    add_output(command, options.output);
    CLI::Option* plot = add_plot(command, options.plot, "the curves, the mean over the seeds,");
    command.add_option("--plot-figure", options.plot_metric, "allocation or fragmentation")
        ->check(CLI::IsMember({"allocation", "fragmentation"}))
        ->needs(plot)
        ->capture_default_str();
    command
        .add_option("--plot-from", options.plot_from,
                    "requested percentage of all GPUs at which the curves begin")
        ->transform(whole_number(0, kLastPercent - 1))
        ->needs(plot)
        ->capture_default_str();
    add_dump_file(command, options.source,
                  "Shows what its pending pods would get, and how much of the GPUs would be "
                  "allocated if all its pods were placed again",
                  {"--trace", "--plot"});
    command.footer(policy_help());
}

Result<std::string> run_replay(const ReplayCommand& command, const Progress& progress) {
    if (!command.source.dump.empty()) return run_snapshot_replay(command, progress);
    SweepOptions options = command.sweep;
    TRY_VOID(read_source(command.source, options.source));
    TRY_VOID(check_plot(command.plot));
    TRY(const auto runs, sweep(options, reader_beside(command.plot), progress));
    TRY_VOID(write_plot(command.plot, replay_chart(runs, plot_options(command))));
    if (command.output == "json") return run_json(runs);
    if (command.output == "csv") return run_csv(runs);
    return run_table(runs);
}

}  // namespace tessera
