#include "adapters/kube/kube_published_nodes.hpp"

#include <algorithm>

#include "adapters/kube/agent_reader.hpp"
#include "adapters/kube/kube_call.hpp"
#include "adapters/kube/kube_pages.hpp"
#include "wire/kube/kube_objects.hpp"
#include "wire/kube/published_node_json.hpp"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kDeadline{10'000};

// An empty value removes an annotation or label.
StringMap without_values(const std::vector<std::string>& keys) {
    StringMap out;
    for (const std::string& key : keys)
        out.emplace(key, "");
    return out;
}

}  // namespace

Result<std::vector<NodeName>> KubePublishedNodes::nodes_with_agents() {
    std::vector<NodeName> nodes;
    TRY_VOID(each_item(http_, agent_pods_path(ns_), "list pods", [&](JsonValue pod) {
        const std::string phase = pod["status"]["phase"].text_or("");
        const std::string node = pod["spec"]["nodeName"].text_or("");
        if (!node.empty() && phase != "Succeeded" && phase != "Failed") nodes.emplace_back(node);
    }));
    std::ranges::sort(nodes);
    return nodes;
}

Result<std::vector<PublishedNode>> KubePublishedNodes::list() {
    std::vector<PublishedNode> nodes;
    TRY_VOID(each_item(http_, "/api/v1/nodes", "list nodes", [&](JsonValue json) {
        PublishedNode node = read_published_node(json);
        if (!node.empty()) nodes.push_back(std::move(node));
    }));
    return nodes;
}

Result<> KubePublishedNodes::remove(const PublishedNode& node) {
    const std::string path = "/api/v1/nodes/" + node.name.str();
    // The annotations go last: a removal that is cut short finds the Node again by them.
    if (!node.amounts.empty())
        TRY_VOID(patch(path + "/status", write_amounts_removal(node.amounts)));
    return patch(
        path, write_metadata_patch(without_values(node.annotations), without_values(node.labels)));
}

Result<> KubePublishedNodes::patch(const std::string& path, std::string body) {
    const auto done = kube_merge_patch(http_, path, std::move(body), kDeadline);
    if (!done && done.error().code != Code::not_found) return fail(done.error());
    return {};
}

}  // namespace tessera
