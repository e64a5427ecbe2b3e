// The nodes of `tessera top node`, and what of their GPUs is allocated. The modes and their order
// are Arena's (docs/research/arena.md §4.1).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/usage.hpp"
#include "base/result.hpp"
#include "domain/usage/cluster_facts.hpp"

namespace tessera {

// How pods get the GPUs of a node. none: it has no GPUs. exclusive: NVIDIA's device plugin assigns
// them whole. share: Tessera, or gpushare, assigns shares of them, or all of one.
enum class NodeMode { none, exclusive, share };

std::string_view words_of(NodeMode mode);
// "GPUShare", "GPUExclusive", "Normal".
std::string_view type_of(NodeMode mode);
// "share" or "s", and so on. invalid_argument for another text.
Result<NodeMode> parse_node_mode(std::string_view text);

// A pod with whole GPUs of a device plugin.
struct PluginPod {
    PodName name;
    std::string status;
    int gpus = 0;
};

struct NodeRow {
    NodeMode mode = NodeMode::none;
    ShownNode facts;
    NodeUsage usage;                     // with GPUs and pods if the mode is share
    std::vector<std::string> statuses;   // of these pods, parallel
    std::vector<PluginPod> plugin_pods;  // by name, then namespace

    [[nodiscard]] const std::string& name() const { return usage.inventory.name.str(); }
    [[nodiscard]] int gpus() const;
    [[nodiscard]] int unhealthy() const;
    // In GPUs: of a share, its part of the GPU's memory. GPUs of a plugin on a node with shares are
    // not counted.
    [[nodiscard]] double allocated() const;
    // In percent of the GPU. A pod that has all of its memory has all of its compute.
    [[nodiscard]] int allocated_cores(std::size_t gpu) const;
    // The sums of all GPUs of a node with shares.
    [[nodiscard]] Bytes memory() const;
    [[nodiscard]] Bytes allocated_memory() const;
    [[nodiscard]] int all_allocated_cores() const;  // in percent of one GPU
};

// By mode, then by name. Pods that have ended, and pods without a node, count nowhere.
std::vector<NodeRow> node_rows(ClusterFacts cluster);

// What a user must know of the nodes beside their rows, a sentence each: a report that cannot be
// read, and GPUs that two systems assign.
std::vector<std::string> node_warnings(std::span<const NodeRow> rows);

// The rows of these nodes and of this mode; all nodes if there are no names. not_found names a node
// that the cluster does not have.
Result<std::vector<NodeRow>> chosen_rows(std::vector<NodeRow> rows,
                                         std::span<const std::string> names,
                                         std::optional<NodeMode> mode);

}  // namespace tessera
