#include "programs/replay_command.hpp"

#include <fmt/format.h>

#include "app/sim/live_report.hpp"
#include "app/sim/report.hpp"
#include "programs/common/validators.hpp"
#include "programs/plot_option.hpp"

namespace tessera {
namespace {

std::string policy_help() {
    std::string text = "Policies:\n";
    for (const FleetPolicyRow& row : fleet_policies())
        text += fmt::format("  {:<25}{}\n", row.name, row.summary);
    return text + "\n" + sim_exit_statuses();
}

PlotOptions plot_options(const ReplayCommand& command) {
    PlotOptions options{.from = command.plot_from};
    for (const PlotFigure& figure : kPlotFigures) {
        if (figure.name == command.figure) options.figure = figure;
    }
    return options;
}

Result<std::string> run_snapshot_replay(const ReplayCommand& command, const Progress& progress) {
    if (command.sweep.seeds.size() > 1) {
        return fail(Code::invalid_argument,
                    "--seed: pods of a snapshot come in one order; name one seed, of what is drawn "
                    "by lot");
    }
    TRY(const ClusterSnapshot snapshot, read_snapshot_file(command.source));
    const LiveOptions options{
        .policies = command.sweep.policies,
        .seeds = {.draws = command.sweep.seeds.front(), .sampling = command.sweep.sampling_seed},
        .threads = command.sweep.threads};
    TRY(const LiveReport report, replay_live(snapshot, options, progress));
    if (command.output == "json") return live_json(report);
    if (command.output == "csv") return live_csv(report);
    return live_table(report);
}

}  // namespace

CLI::App* add_replay(CLI::App& app, ReplayCommand& options) {
    SweepOptions& sweep = options.sweep;
    sweep.traces = {"default"};
    sweep.seeds = {42};
    sweep.policies = {"fgd"};
    CLI::App* command = app.add_subcommand(
        "replay",
        "Offer a trace's tasks in their order of arrival, and measure what a policy makes of it");
    add_source(*command, sweep.source, options.source);
    add_trace(*command, sweep.traces, options.source, "traces, separated by commas")
        ->delimiter(',');
    command->add_option("--seed", sweep.seeds, "orders of arrival, separated by commas")
        ->delimiter(',')
        ->transform(order_seed())
        ->capture_default_str();
    command->add_option("--policy", sweep.policies, "policies, separated by commas")
        ->delimiter(',')
        ->capture_default_str();
    add_sampling_seed(*command, sweep.sampling_seed);
    add_jobs(*command, sweep.threads, "replays");
    add_output(*command, options.output);
    CLI::Option* plot = add_plot(*command, options.plot, "the curves, the mean over the seeds,");
    command->add_option("--plot-figure", options.figure, "allocation or fragmentation")
        ->check(CLI::IsMember({"allocation", "fragmentation"}))
        ->needs(plot)
        ->capture_default_str();
    command
        ->add_option("--plot-from", options.plot_from,
                     "percent of all cards asked for at which the curves begin")
        ->transform(whole_number(0, kLastPercent - 1))
        ->needs(plot)
        ->capture_default_str();
    add_snapshot_file(*command, options.source,
                      "What its waiting pods would get, and what the cluster would hold had all "
                      "its pods been placed anew",
                      {"--trace", "--plot"});
    command->footer(policy_help());
    return command;
}

Result<std::string> run_replay(const ReplayCommand& command, const Progress& progress) {
    if (!command.source.snapshot.empty()) return run_snapshot_replay(command, progress);
    SweepOptions options = command.sweep;
    TRY_VOID(read_source(command.source, options.source));
    TRY_VOID(check_plot(command.plot));
    TRY(const auto runs, sweep(options, reader_beside(command.plot), progress));
    TRY_VOID(write_plot(command.plot, run_chart(runs, plot_options(command))));
    if (command.output == "json") return run_json(runs);
    if (command.output == "csv") return run_csv(runs);
    return run_table(runs);
}

}  // namespace tessera
