#include <algorithm>
#include <iostream>
#include <thread>
#include <utility>

#include "adapters/kube/agent_reader.hpp"
#include "app/cli/share_table.hpp"
#include "app/cli/tables.hpp"
#include "programs/common/validators.hpp"
#include "programs/common/yaml_text.hpp"
#include "programs/tessera/commands.hpp"
#include "programs/tessera/common_options.hpp"
#include "programs/tessera/usage_reader.hpp"

namespace tessera {
namespace {

struct TopOptions {
    UsageOptions usage;
    InstallNamespace install;
    std::int64_t seconds = 1;  // over which the usage of GPUs is measured
};

struct Look {
    std::vector<NodeShareUses> nodes;
    std::vector<std::pair<NodeName, Error>> silent;  // nodes without data; empty name: all nodes
};

Look look(HttpClient& api, const std::string& ns, const NodeName& node) {
    Look seen;
    auto answers = query_agents(api, ns, node);
    if (!answers) {
        seen.silent.emplace_back(node, answers.error());
        return seen;
    }
    if (answers->empty()) {
        seen.silent.emplace_back(
            node, Error{Code::not_found, "no tessera-agent runs in namespace " + ns +
                                             " (set --tessera-namespace to the one where Tessera "
                                             "runs)"});
    }
    for (AgentAnswer& answer : *answers) {
        if (answer.shares) {
            seen.nodes.push_back({answer.node, *std::move(answer.shares)});
        } else {
            seen.silent.emplace_back(answer.node, answer.shares.error());
        }
    }
    return seen;
}

struct Shares {
    std::vector<ShareLine> lines;
    std::vector<std::pair<NodeName, Error>> silent;
};

// If no node enforces shares, no agent has data to return.
Shares read_shares(HttpClient& api, const TopOptions& options, std::span<const NodeUsage> nodes) {
    const bool are_held = std::ranges::any_of(nodes, [](const NodeUsage& node) {
        return node.inventory.shares == EnforcementMode::guard;
    });
    if (!are_held) return {};
    const NodeName node(options.usage.node);
    const std::string& ns = options.install.ns;
    const auto begin = std::chrono::steady_clock::now();
    Look before;
    if (options.seconds > 0) {
        before = look(api, ns, node);
        std::this_thread::sleep_for(std::chrono::seconds(options.seconds));
    }
    Look now = look(api, ns, node);
    const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - begin;
    return {share_lines(nodes, now.nodes, before.nodes, passed.count()), std::move(now.silent)};
}

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
        .add_option("-s,--seconds", options.seconds,
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
    const Shares shares = read_shares(api, options, nodes);
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
    for (const auto& [node, error] : shares.silent) {
        std::cerr << "tessera: the GPU usage of containers"
                  << (node.empty() ? "" : " on " + node.str()) << " is unknown: " << error.text
                  << "\n";
    }
    return 0;
}

}  // namespace

CommandRow top_command() {
    return {"top", "Show the GPUs, fullest first, and the usage of each container's GPU share",
            "tessera top --seconds 5", options_and_run<TopOptions>(add_options, run)};
}

}  // namespace tessera
