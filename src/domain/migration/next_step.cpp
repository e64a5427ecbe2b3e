#include "domain/migration/next_step.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "domain/dialect/gpushare.hpp"

namespace tessera::migration {
namespace {

constexpr const char* kTrue = "true";
constexpr const char* kSeeAgent =
    "the events and the log of the agent's pod on the node say why (tessera doctor)";
constexpr const char* kSeePlugin = "the events and the log of its pod on the node say why";

StringMap one(std::string_view key, std::string value) {
    StringMap out;
    out.emplace(key, std::move(value));
    return out;
}

const Pod* pod_of(const Node& node, Role role) {
    const auto at = std::ranges::find(node.pods, role, &Pod::role);
    return at == node.pods.end() ? nullptr : &*at;
}

bool has_ready(const Node& node, Role role) {
    return std::ranges::any_of(node.pods,
                               [&](const Pod& pod) { return pod.role == role && pod.is_ready; });
}

Wait until_ended(const Pod& pod) {
    return {fmt::format("pod {} has ended", pod.info.name.str()),
            "look for the reason in the pod and in its DaemonSet"};
}

Wait until_started(const Pod& pod) {
    return {fmt::format("pod {} has started", pod.info.name.str()),
            "delete the pod if it cannot start"};
}

// Memory that gpushare does not count would be given twice. Null if there is no such pod.
const Pod* uncounted(const Node& node) {
    const auto at = std::ranges::find_if(node.pods, [](const Pod& pod) {
        return is_placed_by_tessera(pod) && !is_counted_by_gpushare(pod.info);
    });
    return at == node.pods.end() ? nullptr : &*at;
}

// In one write, so that a node with the annotation is cordoned.
NodeChange begin(const Node& node) {
    NodeChange change{.what = "cordon, and annotate tessera.dev/migrated-from=gpushare",
                      .annotations = one(kMigratedFrom, std::string(kGpushare))};
    if (node.is_cordoned) return change;
    change.annotations.emplace(kCordonedBy, kMigration);
    change.is_cordoned = true;
    return change;
}

NodeChange without_cordon(const Node& node, NodeChange change) {
    if (!node.cordoned_by_us) return change;
    change.annotations.emplace(kCordonedBy, "");
    change.is_cordoned = false;
    return change;
}

Step to_tessera(const Node& node) {
    if (!node.is_migrated) return begin(node);
    if (node.has_old_label) {
        if (!node.is_cordoned) return begin(node);
        if (const Pod* pod = unstarted(node)) return until_started(*pod);
        return NodeChange{.what = "remove the label gpushare=true", .labels = one(kOldLabel, "")};
    }
    if (const Pod* pod = pod_of(node, Role::old_plugin)) return until_ended(*pod);
    if (!node.has_agent_label) {
        return NodeChange{.what = "set the label tessera.dev/agent=true",
                          .labels = one(kAgentLabel, kTrue)};
    }
    if (!node.is_agent_wanted) {
        return Wait{"DaemonSet tessera-agent selects the node",
                    "set the chart's agent.nodeLabels to tessera.dev/agent=true"};
    }
    if (!has_ready(node, Role::agent)) return Wait{"Tessera's agent is ready", kSeeAgent};
    if (node.published.empty()) return Wait{"the agent has published its GPUs", kSeeAgent};
    if (node.units == 0) return Wait{"kubelet shows aliyun.com/gpu-mem", kSeeAgent};
    if (node.cordoned_by_us) return without_cordon(node, {.what = "uncordon"});
    return Done{};
}

Step to_gpushare(const Node& node) {
    if (!node.is_migrated) return Done{};
    if (node.has_agent_label) {
        if (!node.is_cordoned) {
            NodeChange change = begin(node);
            change.what = "cordon";
            return change;
        }
        if (const Pod* pod = unstarted(node)) return until_started(*pod);
        if (const Pod* pod = uncounted(node)) {
            return Wait{fmt::format("pod {} has ended, which gpushare would not count",
                                    pod->info.name.str()),
                        "delete it, or bring the node back to Tessera with --apply"};
        }
        return NodeChange{.what = "remove the label tessera.dev/agent",
                          .labels = one(kAgentLabel, "")};
    }
    if (const Pod* pod = pod_of(node, Role::agent)) return until_ended(*pod);
    if (!node.published.empty())
        return NodeChange{.what = "remove what the agent published", .removes_report = true};
    if (!node.has_old_label) {
        return NodeChange{.what = "set the label gpushare=true", .labels = one(kOldLabel, kTrue)};
    }
    if (!has_ready(node, Role::old_plugin))
        return Wait{"gpushare's device plugin is ready", kSeePlugin};
    if (node.units == 0) return Wait{"kubelet shows aliyun.com/gpu-mem", kSeePlugin};
    return without_cordon(node, {.what = node.cordoned_by_us ? "uncordon, and remove the annotation"
                                                             : "remove the annotation",
                                 .annotations = one(kMigratedFrom, "")});
}

// The plan's view of a node: after this change, and after what follows from it.
void apply(const NodeChange& change, Node& node) {
    const auto set = [](const StringMap& texts, std::string_view key, bool& flag) {
        if (const auto at = texts.find(key); at != texts.end()) flag = !at->second.empty();
    };
    set(change.labels, kOldLabel, node.has_old_label);
    set(change.labels, kAgentLabel, node.has_agent_label);
    set(change.annotations, kMigratedFrom, node.is_migrated);
    set(change.annotations, kCordonedBy, node.cordoned_by_us);
    if (change.is_cordoned) node.is_cordoned = *change.is_cordoned;
    if (change.removes_report) node.published = {};
    node.is_agent_wanted = node.has_agent_label;
}

// What the plan expects of a wait: all pods start or end as they should, a plugin whose label is
// gone ends, and one whose label was set becomes ready.
void fulfil(Node& node) {
    for (Pod& pod : node.pods)
        pod.info.started = true;
    std::erase_if(node.pods, [&](const Pod& pod) {
        return (is_placed_by_tessera(pod) && !is_counted_by_gpushare(pod.info)) ||
               (pod.role == Role::old_plugin && !node.has_old_label) ||
               (pod.role == Role::agent && !node.has_agent_label);
    });
    if (node.has_old_label == node.has_agent_label) return;
    const Role role = node.has_old_label ? Role::old_plugin : Role::agent;
    if (!has_ready(node, role)) node.pods.push_back({.role = role, .is_ready = true});
    if (role == Role::agent) node.published.annotations = {"tessera.dev/gpus"};
    node.units = std::max<std::int64_t>(node.units, 1);
}

}  // namespace

const Pod* unstarted(const Node& node) {
    const auto at = std::ranges::find_if(node.pods, [](const Pod& pod) {
        return pod.role == Role::workload && asks_for_gpus(pod.info) && !pod.info.started;
    });
    return at == node.pods.end() ? nullptr : &*at;
}

bool is_placed_by_tessera(const Pod& pod) {
    return pod.role == Role::workload && pod.info.allocation.has_value();
}

bool is_counted_by_gpushare(const PodInfo& pod) {
    if (!pod.legacy || pod.legacy->shares.size() != 1 || !pod.request) return false;
    return std::ranges::any_of(*pod.request, [](const ContainerRequest& request) {
        return request.kind == ContainerKind::app && request.gpu.dialect == &kGpushareDialect;
    });
}

Step next_step(const Node& node, Direction direction) {
    return direction == Direction::to_tessera ? to_tessera(node) : to_gpushare(node);
}

std::vector<std::string> steps_ahead(const Node& node, Direction direction) {
    constexpr int kMost = 20;  // more than a node has
    std::vector<std::string> out;
    Node now = node;
    for (int i = 0; i < kMost; ++i) {
        const Step step = next_step(now, direction);
        if (std::holds_alternative<Done>(step)) break;
        if (const auto* change = std::get_if<NodeChange>(&step)) {
            out.push_back(change->what);
            apply(*change, now);
        } else {
            out.push_back("wait until " + std::get<Wait>(step).until);
            fulfil(now);
        }
    }
    return out;
}

}  // namespace tessera::migration
