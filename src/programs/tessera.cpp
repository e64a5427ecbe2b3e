// tessera: what a person types. Called as kubectl-inspect-gpushare it is gpushare's kubectl plugin.
#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <iostream>

#include "app/cli/completion.hpp"
#include "app/cli/gpushare_text.hpp"
#include "app/cli/tables.hpp"
#include "programs/common/command_line.hpp"
#include "programs/common/completion_words.hpp"
#include "programs/common/validators.hpp"
#include "programs/common/yaml_text.hpp"
#include "programs/defrag_command.hpp"
#include "programs/doctor_command.hpp"
#include "programs/explain_command.hpp"
#include "programs/resize_command.hpp"
#include "programs/snapshot_command.hpp"
#include "programs/top_command.hpp"
#include "programs/usage_reader.hpp"

namespace tessera {
namespace {

struct Options {
    UsageOptions usage;
    std::string shell;
    std::string space = "tessera-system";
    std::int64_t seconds = 1;
    bool details = false;
};

std::string render(const Options& options, std::span<const NodeUsage> nodes) {
    if (options.usage.output == "json") return usage_json(nodes) + "\n";
    if (options.usage.output == "yaml") return yaml_of_json(usage_json(nodes));
    if (options.usage.output == "wide") return wide_table(nodes);
    return options.details ? gpushare_details(nodes) : gpushare_summary(nodes);
}

int finish(const Error& error) {
    std::cerr << "tessera: " << error.text << "\n";
    return exit_status(error.code);
}

// gpushare's plugin: its flags, its texts, its exit statuses (docs/research/gpushare.md §3).
int run_plugin(int argc, char** argv) {
    CLI::App app{"Show who holds which GPU", "kubectl-inspect-gpushare"};
    Options options;
    app.add_flag("-d,--details", options.details, "details");
    app.add_option("node", options.usage.node, "only this node");
    app.add_option("--context", options.usage.kube.context, "context of the kubeconfig");
    app.add_option("--kubeconfig", options.usage.kube.path, "kubeconfig file");
    try {
        app.parse(command_line(argc, argv));
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    const auto nodes = load_usage(options.usage);
    if (!nodes) {
        std::cout << "Failed due to " << nodes.error().text;
        return 1;
    }
    std::cout << render(options, *nodes);
    return 0;
}

void add_connection(CLI::App& command, Options& options) {
    command.add_option("--context", options.usage.kube.context, "context of the kubeconfig");
    command.add_option("--kubeconfig", options.usage.kube.path, "kubeconfig file (env KUBECONFIG)");
}

void add_common(CLI::App& command, Options& options) {
    command.add_option("node", options.usage.node, "only this node");
    command.add_option("-o,--output", options.usage.output, "json, yaml or wide")
        ->check(CLI::IsMember({"json", "yaml", "wide"}));
    add_connection(command, options);
}

int run(int argc, char** argv) {
    CLI::App app{"Shared GPUs on Kubernetes.", "tessera"};
    app.set_version_flag("--version", "tessera " TESSERA_VERSION);
    app.require_subcommand(1)->footer(exit_statuses());
    Options options;
    CLI::App* inspect = app.add_subcommand("inspect", "Show who holds which GPU");
    CLI::Option* details = inspect->add_flag("-d,--details", options.details, "a line per pod");
    add_common(*inspect, options);
    inspect->get_option("--output")->excludes(details);
    CLI::App* top = app.add_subcommand(
        "top", "Show the GPUs, fullest first, and what containers use of their shares");
    top->add_option("-s,--seconds", options.seconds, "for how long to watch who is busy; 0: not")
        ->transform(whole_number(0, 60))
        ->capture_default_str();
    top->add_option("-n,--namespace", options.space, "where Tessera runs")->capture_default_str();
    add_common(*top, options);
    CLI::App* doctor = app.add_subcommand("doctor", "Check the cluster, and say what to mend");
    doctor->add_option("-n,--namespace", options.space, "where Tessera runs");
    doctor->add_option("-o,--output", options.usage.output, "json")->check(CLI::IsMember({"json"}));
    add_connection(*doctor, options);
    ResizeOptions resize;
    const CLI::App* resizing = add_resize(app, resize);
    DefragOptions defrag;
    const CLI::App* defragging = add_defrag(app, defrag);
    ExplainOptions explain;
    const CLI::App* explaining = add_explain(app, explain);
    SnapshotOptions snapshot;
    const CLI::App* snapping = add_snapshot(app, snapshot);
    CLI::App* completion =
        app.add_subcommand("completion", "Print the completion script of a shell");
    completion->add_option("shell", options.shell, "bash, zsh or fish")->required();
    try {
        app.parse(command_line(argc, argv));
    } catch (const CLI::ParseError& error) {
        if (const auto rest = app.remaining(); app.get_subcommands().empty() && !rest.empty()) {
            return finish(
                {Code::invalid_argument, "no command \"" + rest.front() +
                                             "\"; there is inspect, top, doctor, resize, defrag, "
                                             "explain, snapshot and completion"});
        }
        return app.exit(error) == 0 ? 0 : 2;
    }
    if (completion->parsed()) {
        const auto script = completion_script(options.shell, completion_words(app));
        if (!script) return finish(script.error());
        std::cout << *script;
        return 0;
    }
    if (resizing->parsed()) return run_resize(resize);
    if (defragging->parsed()) return run_defrag(defrag);
    if (explaining->parsed()) return run_explain(explain);
    if (snapping->parsed()) return run_snapshot(snapshot);
    if (doctor->parsed())
        return run_doctor(options.usage.kube, options.space, options.usage.output);
    if (top->parsed())
        return run_top(options.usage, options.space, std::chrono::seconds(options.seconds));
    const auto nodes = load_usage(options.usage);
    if (!nodes) return finish(nodes.error());
    std::cout << render(options, *nodes);
    return 0;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
    const std::string name = std::filesystem::path(argv[0]).filename().string();
    const auto run = name.starts_with("kubectl-inspect") ? tessera::run_plugin : tessera::run;
    if (const int status = run(argc, argv); status != 0 || std::cout.flush()) return status;
    return tessera::finish({tessera::Code::unavailable, "the output cannot be written"});
}
