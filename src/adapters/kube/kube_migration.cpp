#include "adapters/kube/kube_migration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "adapters/kube/kube_call.hpp"
#include "adapters/kube/kube_pages.hpp"
#include "adapters/kube/kube_published_nodes.hpp"
#include "wire/kube/migration_json.hpp"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kDeadline{10'000};
constexpr const char* kWebhook =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/tessera-pods";

JsonValue pods_of(const std::optional<JsonDocument>& workload) {
    return workload ? workload->root()["spec"]["template"]["spec"] : JsonValue();
}

}  // namespace

Result<JsonDocument> KubeMigration::get(const std::string& path) {
    TRY(const std::string body, kube_call(http_, {.method = "GET", .path = path}, kDeadline));
    return JsonDocument::parse(body);
}

Result<std::optional<JsonDocument>> KubeMigration::find(const std::string& path) {
    auto document = get(path);
    if (document) return std::optional(*std::move(document));
    if (document.error().code == Code::not_found) return std::optional<JsonDocument>();
    return fail(document.error());
}

Result<std::optional<JsonDocument>> KubeMigration::find_agents() {
    return find(fmt::format("/apis/apps/v1/namespaces/{}/daemonsets/tessera-agent", ns_));
}

Result<> KubeMigration::read_daemon_sets(migration::Facts& facts) {
    return each_item(http_, "/apis/apps/v1/daemonsets", "list daemonsets.apps",
                     [&](JsonValue json) {
                         if (auto plugin = read_old_plugin(json))
                             facts.old_plugins.push_back(*std::move(plugin));
                     });
}

Result<> KubeMigration::read_controller(migration::Facts& facts) {
    TRY(const auto deployment,
        find(fmt::format("/apis/apps/v1/namespaces/{}/deployments/tessera-controller", ns_)));
    facts.has_own_scheduler = deployment && has_own_scheduler(deployment->root());
    TRY(const auto webhook, find(kWebhook));
    facts.has_webhook = webhook && is_webhook_trusted(webhook->root());
    return {};
}

Result<> KubeMigration::read_pods(migration::Facts& facts) {
    std::map<NodeName, migration::Node*> nodes;
    for (migration::Node& node : facts.nodes)
        nodes.emplace(node.name(), &node);
    return each_item(http_, "/api/v1/pods", "list pods", [&](JsonValue json) {
        migration::Pod pod = read_migration_pod(json, ns_);
        if (pod.info.finished) return;
        if (pod.role == migration::Role::controller && pod.is_ready) ++facts.ready_controllers;
        if (pod.info.node.empty()) {
            if (asks_for_gpus(pod.info)) facts.waiting.push_back(std::move(pod));
        } else if (const auto node = nodes.find(pod.info.node); node != nodes.end()) {
            node->second->pods.push_back(std::move(pod));
        }
    });
}

Result<migration::Facts> KubeMigration::read() {
    migration::Facts facts{.ns = ns_};
    TRY(const auto agents, find_agents());
    if (agents) facts.agents = read_agents(agents->root());
    TRY_VOID(each_item(http_, "/api/v1/nodes", "list nodes", [&](JsonValue json) {
        facts.nodes.push_back(read_migration_node(json, pods_of(agents)));
    }));
    std::ranges::sort(facts.nodes, {}, [](const migration::Node& node) { return node.name(); });
    TRY_VOID(read_daemon_sets(facts));
    TRY_VOID(read_controller(facts));
    TRY_VOID(read_pods(facts));
    return facts;
}

Result<migration::Node> KubeMigration::read_node(const NodeName& name) {
    TRY(const auto agents, find_agents());
    TRY(const auto document, get("/api/v1/nodes/" + name.str()));
    migration::Node node = read_migration_node(document.root(), pods_of(agents));
    TRY_VOID(each_item(http_, "/api/v1/pods?fieldSelector=spec.nodeName%3D" + name.str(),
                       "list pods", [&](JsonValue json) {
                           migration::Pod pod = read_migration_pod(json, ns_);
                           if (!pod.info.finished) node.pods.push_back(std::move(pod));
                       }));
    return node;
}

Result<> KubeMigration::write(const migration::Node& node, const migration::NodeChange& change) {
    if (change.removes_report) return KubePublishedNodes(http_, ns_).remove(node.published);
    return kube_merge_patch(http_, "/api/v1/nodes/" + node.name().str(),
                            write_node_change(node.version, change), kDeadline);
}

}  // namespace tessera
