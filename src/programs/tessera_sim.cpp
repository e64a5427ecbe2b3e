// tessera-sim: replays traces against the placement engine.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <thread>

#include "adapters/os/text_file.hpp"
#include "app/sim/report.hpp"
#include "app/sim/sweep.hpp"
#include "programs/bound_command.hpp"
#include "programs/common/command_line.hpp"

namespace tessera {
namespace {

struct Options {
    SweepOptions sweep{
        .traces = {"default"},
        .seeds = {42},
        .policies = {"FGD"},
        .threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()))};
    std::string output = "table";
};

int finish(const Error& error) {
    std::cerr << "tessera-sim: " << error.text << "\n";
    return exit_status(error.code);
}

std::string policy_help() {
    std::string text = "Policies:\n";
    for (const FleetPolicyRow& row : fleet_policies())
        text += fmt::format("  {:<22}{}\n", row.name, row.summary);
    return text +
           "\nExit status: 0 done, 2 wrong use or a file with a fault, 3 no such file or policy.";
}

void add_replay(CLI::App& app, Options& options) {
    SweepOptions& sweep = options.sweep;
    CLI::App* command = app.add_subcommand(
        "replay",
        "Offer a trace's tasks in their order of arrival, and measure what a policy makes of it");
    command
        ->add_option("--data", sweep.folder,
                     "folder of the openb trace: openb_node_list_gpu_node.csv, "
                     "openb_pod_list_TRACE.csv, arrivals/TRACE.seedSEED.txt")
        ->required();
    command->add_option("--trace", sweep.traces, "traces, separated by commas")
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
    command->add_option("-j,--jobs", sweep.threads, "replays at a time")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    command->add_option("-o,--output", options.output, "table, json or csv")
        ->check(CLI::IsMember({"table", "json", "csv"}))
        ->capture_default_str();
    command->footer(policy_help());
}

// On a terminal only; it takes its line away when all is done.
void show_progress(std::size_t done, std::size_t of) {
    constexpr std::size_t kWidth = 40;
    static const bool is_terminal = ::isatty(STDERR_FILENO) == 1;
    if (!is_terminal) return;
    const std::size_t filled = done * kWidth / of;
    std::cerr << fmt::format("\r[{:#>{}}{:.>{}}] {}/{} runs", "", filled, "", kWidth - filled, done,
                             of);
    if (done == of) std::cerr << "\r\033[K";
    std::cerr << std::flush;
}

std::string render(const Options& options, std::span<const SimRun> runs) {
    if (options.output == "json") return run_json(runs);
    if (options.output == "csv") return run_csv(runs);
    return run_table(runs);
}

int run(int argc, char** argv) {
    CLI::App app{"Replays traces against Tessera's placement engine.", "tessera-sim"};
    app.set_version_flag("--version", "tessera-sim " TESSERA_VERSION);
    app.require_subcommand(1);
    Options options;
    add_replay(app, options);
    BoundCommand bound;
    const CLI::App* bound_asked = add_bound(app, bound);
    try {
        app.parse(command_line(argc, argv));
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    if (bound_asked->parsed()) {
        const auto text = run_bound(bound, show_progress);
        if (!text) return finish(text.error());
        std::cout << *text;
        return 0;
    }
    const auto runs = sweep(options.sweep, read_text_file, show_progress);
    if (!runs) return finish(runs.error());
    std::cout << render(options, *runs);
    return 0;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
    if (const int status = tessera::run(argc, argv); status != 0 || std::cout.flush())
        return status;
    return tessera::finish({tessera::Code::unavailable, "the output cannot be written"});
}
