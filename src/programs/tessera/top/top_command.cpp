#include <iostream>

#include "app/cli/tables.hpp"
#include "programs/common/validators.hpp"
#include "programs/common/yaml_text.hpp"
#include "programs/tessera/commands.hpp"
#include "programs/tessera/common_options.hpp"
#include "programs/tessera/shares_reader.hpp"
#include "programs/tessera/top/top_commands.hpp"
#include "programs/tessera/usage_reader.hpp"

namespace tessera {
namespace {

struct TopOptions {
    UsageOptions usage;
    InstallNamespace install;
    std::int64_t seconds = 1;  // over which the usage of GPUs is measured
};

std::string json_of(std::span<const NodeUsage> nodes, const Shares& shares) {
    JsonWriter w;
    w.object([&] {
        write_usage(w, nodes);
        write_shares(w, shares.lines);
        w.array("unknown", [&] {
            for (const auto& silent : shares.silent) {
                w.object([&] {
                    if (!silent.first.empty()) w.member("node", silent.first.str());
                    w.member("reason", silent.second.text);
                });
            }
        });
    });
    return w.take();
}

void add_options(CLI::App& command, TopOptions& options) {
    command
        .add_option("--seconds", options.seconds,
                    "sampling interval for GPU utilization, in seconds; 0 disables it")
        ->transform(whole_number(0, 60))
        ->capture_default_str();
    options.install.add_to(command);
    command.add_option("node", options.usage.node, "only this node");
    add_output(command, options.usage.output, {"json", "yaml", "wide"});
    add_connection(command, options.usage.kube);
}

// Nodes whose agents do not report are named on stderr.
Result<int> run(const TopOptions& options) {
    TRY_VOID(options.install.check());
    TRY(const KubeConnection connection, connect_info(options.usage.kube));
    HttpClient api(connection.endpoint);
    TRY(auto nodes, load_usage(api, options.usage));
    TRY_VOID(load_agents(api, nodes));
    const Shares shares = read_shares(
        api, {options.install.ns, NodeName(options.usage.node), options.seconds}, nodes);
    const std::string& output = options.usage.output;
    if (output == "json") {
        std::cout << json_of(nodes, shares) << "\n";
    } else if (output == "yaml") {
        std::cout << yaml_of_json(json_of(nodes, shares));
    } else {
        std::cout << (output == "wide" ? wide_table(nodes) : top_table(nodes));
        if (!shares.lines.empty()) std::cout << "\n" << share_table(shares.lines);
    }
    print_agents_missing(nodes);
    print_silent(shares);
    return 0;
}

}  // namespace

// With a name, the command itself shows the GPUs of this node.
CommandRow top_command() {
    return {.name = "top",
            .summary =
                "Show the GPUs, fullest first, and the usage of each container's GPU share; "
                "or the GPUs of nodes or jobs",
            .example = "tessera top --seconds 5",
            .options = options_and_run<TopOptions>(add_options, run),
            .commands = {top_node_command(), top_job_command()}};
}

}  // namespace tessera
