#include "programs/top_command.hpp"

#include <algorithm>
#include <iostream>
#include <thread>
#include <utility>

#include "adapters/kube/agent_reader.hpp"
#include "app/cli/share_table.hpp"
#include "app/cli/tables.hpp"
#include "programs/common/command_line.hpp"
#include "programs/common/yaml_text.hpp"

namespace tessera {
namespace {

struct Look {
    std::vector<NodeShareUses> nodes;
    std::vector<std::pair<NodeName, Error>> silent;  // nodes that do not say it; no name: none does
};

Look look(const HttpEndpoint& api, const std::string& space, const NodeName& node) {
    Look seen;
    auto answers = ask_agents(api, space, node);
    if (!answers) {
        seen.silent.emplace_back(node, answers.error());
        return seen;
    }
    if (answers->empty()) {
        seen.silent.emplace_back(
            node, Error{Code::not_found, "no agent of Tessera's runs in namespace " + space +
                                             " (--namespace says where Tessera is)"});
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

// Where no node holds shares nobody has anything to say.
Shares read_shares(const HttpEndpoint& api, const UsageOptions& options, const std::string& space,
                   std::span<const NodeUsage> nodes, std::chrono::seconds watched) {
    const bool are_held = std::ranges::any_of(
        nodes, [](const NodeUsage& node) { return node.inventory.shares == Holding::guard; });
    if (!are_held) return {};
    const NodeName node(options.node);
    const auto begin = std::chrono::steady_clock::now();
    Look before;
    if (watched.count() > 0) {
        before = look(api, space, node);
        std::this_thread::sleep_for(watched);
    }
    Look now = look(api, space, node);
    const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - begin;
    return {share_lines(nodes, now.nodes, before.nodes, passed.count()), std::move(now.silent)};
}

std::string json_of(std::span<const NodeUsage> nodes, const Shares& shares) {
    JsonWriter w;
    w.object([&] {
        write_usage(w, nodes);
        write_shares(w, shares.lines);
        w.array("unknown", [&] {
            for (const auto& [node, error] : shares.silent) {
                w.object([&] {
                    if (!node.empty()) w.member("node", node.str());
                    w.member("reason", error.text);
                });
            }
        });
    });
    return w.take();
}

}  // namespace

int run_top(const UsageOptions& options, const std::string& space, std::chrono::seconds watched) {
    const auto refuse = [](const Error& error) {
        std::cerr << "tessera: " << error.text << "\n";
        return exit_status(error.code);
    };
    if (space.empty())
        return refuse({Code::invalid_argument, "--namespace: is empty; leave it out, or name one"});
    const auto nodes = load_usage(options);
    if (!nodes) return refuse(nodes.error());
    const auto connection = connect_info(options.kube);
    if (!connection) return refuse(connection.error());
    const Shares shares = read_shares(connection->endpoint, options, space, *nodes, watched);
    if (options.output == "json") {
        std::cout << json_of(*nodes, shares) << "\n";
    } else if (options.output == "yaml") {
        std::cout << yaml_of_json(json_of(*nodes, shares));
    } else {
        std::cout << (options.output == "wide" ? wide_table(*nodes) : top_table(*nodes));
        if (!shares.lines.empty()) std::cout << "\n" << share_table(shares.lines);
    }
    for (const auto& [node, error] : shares.silent) {
        std::cerr << "tessera: what containers use" << (node.empty() ? "" : " on " + node.str())
                  << " is not known: " << error.text << "\n";
    }
    return 0;
}

}  // namespace tessera
