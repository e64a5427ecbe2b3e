// What `tessera migrate gpushare` reads of a cluster, and what it writes on Nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/cluster/node.hpp"
#include "domain/cluster/pod_info.hpp"
#include "domain/dialect/published_node.hpp"

namespace tessera::migration {

// The labels that select the nodes of gpushare's device plugin and of Tessera's agent. Both have
// the value "true".
inline constexpr std::string_view kOldLabel = "gpushare";
inline constexpr std::string_view kAgentLabel = "tessera.dev/agent";

// A Node's annotation, from the first write of its migration to the end of its rollback. Its value
// is kGpushare.
inline constexpr std::string_view kMigratedFrom = "tessera.dev/migrated-from";
inline constexpr std::string_view kGpushare = "gpushare";
// A Node's annotation, while this command has cordoned it. A Node that an administrator cordoned
// does not have it, and stays cordoned.
inline constexpr std::string_view kCordonedBy = "tessera.dev/cordoned-by";
inline constexpr std::string_view kMigration = "migration";

// What runs in a pod.
enum class Role { workload, old_plugin, old_extender, agent, controller, other_gpu_program };

struct Pod {
    PodInfo info;
    Role role = Role::workload;
    std::string what;       // of other_gpu_program: its name, as "NVIDIA's device plugin"
    std::string scheduler;  // spec.schedulerName
    bool is_ready = false;
};

struct Node {
    NodeInventory inventory;
    std::string version;  // metadata.resourceVersion
    bool has_old_label = false;
    bool has_agent_label = false;
    bool is_migrated = false;      // kMigratedFrom
    bool is_cordoned = false;      // spec.unschedulable
    bool cordoned_by_us = false;   // kCordonedBy
    bool is_agent_wanted = false;  // Tessera's DaemonSet selects it
    PublishedNode published;       // what an agent wrote on it
    std::int64_t units = 0;        // allocatable aliyun.com/gpu-mem
    std::vector<Pod> pods;         // on it, without those that have ended

    [[nodiscard]] const NodeName& name() const { return inventory.name; }
};

// gpushare's device plugin, or Tessera's agent.
struct DaemonSet {
    std::string name;                   // with its namespace
    MemoryUnit unit = MemoryUnit::gib;  // --memory-unit
    bool needs_old_label = false;       // its node selector has gpushare=true
};

struct Facts {
    std::vector<Node> nodes;   // ascending by name
    std::vector<Pod> waiting;  // pods without a node that request GPUs
    std::vector<DaemonSet> old_plugins;
    std::optional<DaemonSet> agents;
    int ready_controllers = 0;
    bool has_webhook = false;        // it exists, and the API server trusts it
    bool has_own_scheduler = false;  // mode: scheduler
    std::string ns;                  // where Tessera runs
};

// One write of a Node. The API server refuses it if the Node has changed since it was read.
struct NodeChange {
    std::string what;            // as in "remove the label gpushare=true"
    StringMap labels = {};       // an empty value removes the label
    StringMap annotations = {};  // the same
    std::optional<bool> is_cordoned = {};
    bool removes_report = false;  // also all that an agent published

    friend bool operator==(const NodeChange&, const NodeChange&) = default;
};

}  // namespace tessera::migration
