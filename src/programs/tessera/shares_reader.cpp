#include "programs/tessera/shares_reader.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <thread>

#include "adapters/kube/agent_reader.hpp"

namespace tessera {
namespace {

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

}  // namespace

Shares read_shares(HttpClient& api, const UsesRequest& request, std::span<const NodeUsage> nodes) {
    const bool are_held = std::ranges::any_of(nodes, [](const NodeUsage& node) {
        return node.inventory.shares == EnforcementMode::guard;
    });
    if (!are_held) return {};
    const auto begin = std::chrono::steady_clock::now();
    Look before;
    if (request.seconds > 0) {
        before = look(api, request.install_ns, request.node);
        std::this_thread::sleep_for(std::chrono::seconds(request.seconds));
    }
    Look now = look(api, request.install_ns, request.node);
    std::erase_if(now.silent, [&](const auto& silent) {
        const auto is_it = [&](const NodeUsage& node) {
            return node.inventory.name == silent.first;
        };
        return !silent.first.empty() && std::ranges::none_of(nodes, is_it);
    });
    const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - begin;
    return {share_lines(nodes, now.nodes, before.nodes, passed.count()), std::move(now.silent)};
}

Shares read_shares_of(HttpClient& api, const std::string& install_ns,
                      std::span<const NodeUsage> nodes) {
    UsesRequest request{.install_ns = install_ns, .node = {}};
    if (nodes.size() == 1) request.node = nodes.front().inventory.name;
    return read_shares(api, request, nodes);
}

std::vector<NodeUsage> nodes_of(const workload::TrainingStatus& job,
                                std::span<const NodeInventory> nodes) {
    std::vector<NodeUsage> out;
    for (const NodeInventory& node : nodes) {
        NodeUsage used{.inventory = node};
        for (const workload::TrainingPod& one : job.pods) {
            if (one.pod.node == node.name.str() && one.pod.phase == "Running") {
                used.pods.push_back({one.pod.uid, {job.ns, one.pod.name}, {}, {}, {}, {}});
            }
        }
        if (!used.pods.empty()) out.push_back(std::move(used));
    }
    return out;
}

void print_silent(const Shares& shares) {
    for (const auto& [node, error] : shares.silent) {
        std::cerr << "tessera: the GPU usage of containers"
                  << (node.empty() ? "" : " on " + node.str()) << " is unknown: " << error.text
                  << "\n";
    }
}

}  // namespace tessera
