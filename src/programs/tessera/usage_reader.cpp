#include "programs/tessera/usage_reader.hpp"

#include <iostream>

#include "adapters/kube/agent_reader.hpp"
#include "adapters/kube/kube_client.hpp"
#include "adapters/kube/kube_pages.hpp"
#include "wire/kube/doctor_json.hpp"
#include "wire/kube/kube_objects.hpp"
#include "wire/workload/cluster_facts_json.hpp"

namespace tessera {
namespace {

Error advise(Error error) {
    if (error.code == Code::permission_denied) {
        error.text +=
            "; you need the rights to list nodes and pods (kubectl auth can-i list pods -A)";
    } else if (error.code == Code::unavailable && !error.text.starts_with("kubeconfig: ")) {
        error.text += "; is the cluster up, and is this the right --context?";
    }
    return error;
}

}  // namespace

Result<std::vector<NodeUsage>> load_usage(HttpClient& api, const UsageOptions& options) {
    KubeClient kube(api);
    auto nodes = kube.list_nodes();
    if (!nodes) return fail(advise(nodes.error()));
    if (!options.node.empty()) {
        std::erase_if(*nodes, [&](const NodeInventory& n) { return n.name.str() != options.node; });
        if (nodes->empty())
            return fail(Code::not_found, "nodes \"" + options.node + "\" not found");
    }
    const auto pods = kube.list_pods({});
    if (!pods) return fail(advise(pods.error()));
    return usage_of(*std::move(nodes), *pods);
}

Result<ClusterFacts> load_cluster(HttpClient& api) {
    ClusterFacts cluster;
    const auto done = each_node_and_pod(
        api,
        [&](JsonValue node) {
            cluster.nodes.push_back(read_node(node));
            cluster.shown_nodes.push_back(read_shown_node(node));
        },
        [&](JsonValue pod) {
            cluster.pods.push_back(read_pod(pod));
            cluster.shown_pods.push_back(read_shown_pod(pod));
            if (is_ready_agent(pod)) cluster.agents.emplace(pod["spec"]["nodeName"].text_or(""));
        });
    if (!done) return fail(advise(done.error()));
    return cluster;
}

Result<> load_agents(HttpClient& api, std::span<NodeUsage> nodes) {
    const auto agents = nodes_with_ready_agent(api);
    if (!agents) return fail(advise(agents.error()));
    set_agents(nodes, *agents);
    return {};
}

void print_agents_missing(std::span<const NodeUsage> nodes) {
    const std::string text = agents_text(nodes);
    if (!text.empty()) std::cerr << "tessera: " << text << "\n";
}

}  // namespace tessera
