#include "programs/replay_command.hpp"

#include <fmt/format.h>

#include "adapters/os/text_file.hpp"
#include "app/sim/live_report.hpp"
#include "app/sim/report.hpp"
#include "programs/sim_options.hpp"
#include "wire/snapshot_json.hpp"

namespace tessera {
namespace {

std::string policy_help() {
    std::string text = "Policies:\n";
    for (const FleetPolicyRow& row : fleet_policies())
        text += fmt::format("  {:<22}{}\n", row.name, row.summary);
    return text +
           "\nExit status: 0 done, 2 wrong use or a file with a fault, 3 no such file or policy.";
}

Result<> draw(const ReplayCommand& command, std::span<const SimRun> runs) {
    PlotOptions options{.from = command.plot_from};
    for (const PlotFigure& figure : kPlotFigures) {
        if (figure.name == command.figure) options.figure = figure;
    }
    const auto drawn = write_text_file(command.plot, run_svg(runs, options));
    if (!drawn) return fail(drawn.error().in("--plot"));
    return {};
}

Result<std::string> run_snapshot_replay(const ReplayCommand& command, const Progress& progress) {
    TRY(const std::string text, read_text_file(command.snapshot));
    const auto snapshot = read_snapshot(text);
    if (!snapshot) return fail(snapshot.error().in(command.snapshot));
    const LiveOptions options{
        .policies = command.sweep.policies,
        .seeds = {.draws = command.sweep.seeds.front(), .sampling = command.sweep.sampling_seed},
        .threads = command.sweep.threads};
    TRY(const LiveReport report, replay_live(*snapshot, options, progress));
    if (command.output == "json") return live_json(report);
    if (command.output == "csv") return live_csv(report);
    return live_table(report);
}

}  // namespace

CLI::App* add_replay(CLI::App& app, ReplayCommand& options) {
    SweepOptions& sweep = options.sweep;
    sweep.traces = {"default"};
    sweep.seeds = {42};
    sweep.policies = {"FGD"};
    CLI::App* command = app.add_subcommand(
        "replay",
        "Offer a trace's tasks in their order of arrival, and measure what a policy makes of it");
    CLI::Option* data =
        command->add_option("--data", sweep.folder,
                            "folder of the openb trace: openb_node_list_gpu_node.csv, "
                            "openb_pod_list_TRACE.csv, arrivals/TRACE.seedSEED.txt");
    CLI::Option* snapshot = command->add_option(
        "--snapshot", options.snapshot,
        "in place of a trace: a file of tessera snapshot. What its waiting pods would get, and "
        "what the cluster would hold had all its pods been placed anew");
    snapshot->excludes(data);
    command->add_option("--trace", sweep.traces, "traces, separated by commas")
        ->excludes(snapshot)
        ->delimiter(',')
        ->capture_default_str();
    command->add_option("--seed", sweep.seeds, "orders of arrival, separated by commas")
        ->delimiter(',')
        ->capture_default_str();
    command->add_option("--policy", sweep.policies, "policies, separated by commas")
        ->delimiter(',')
        ->capture_default_str();
    command
        ->add_option("--sampling-seed", sweep.sampling_seed,
                     "for policies that sample what is to come")
        ->capture_default_str();
    command
        ->add_option("--without", options.without,
                     "what if: do without these nodes, separated by commas: \"20 T4\" is any 20 "
                     "with that model, drawn by --seed; else the name of one. Percent are of the "
                     "cards that are left")
        ->excludes(snapshot)
        ->delimiter(',');
    add_jobs(*command, sweep.threads, "replays");
    add_output(*command, options.output);
    command
        ->add_option("--plot", options.plot,
                     "also draw the curves, the mean over the seeds, as SVG into this file")
        ->excludes(snapshot);
    command->add_option("--plot-figure", options.figure, "allocation or fragmentation")
        ->check(CLI::IsMember({"allocation", "fragmentation"}))
        ->capture_default_str();
    command
        ->add_option("--plot-from", options.plot_from,
                     "percent of all cards asked for at which the curves begin")
        ->check(CLI::Range(0, kLastPercent - 1))
        ->capture_default_str();
    command->footer(policy_help());
    return command;
}

Result<std::string> run_replay(const ReplayCommand& command, const Progress& progress) {
    if (!command.snapshot.empty()) return run_snapshot_replay(command, progress);
    if (command.sweep.folder.empty())
        return fail(Code::invalid_argument, "--data or --snapshot is required");
    SweepOptions options = command.sweep;
    for (const std::string& text : command.without) {
        auto fewer = read_fewer_nodes(text);
        if (!fewer) return fail(fewer.error().in("--without"));
        options.without.push_back(*std::move(fewer));
    }
    TRY(const auto runs, sweep(options, read_text_file, progress));
    if (!command.plot.empty()) TRY_VOID(draw(command, runs));
    if (command.output == "json") return run_json(runs);
    if (command.output == "csv") return run_csv(runs);
    return run_table(runs);
}

}  // namespace tessera
