#include "app/top/node_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

namespace tessera {
namespace {

struct ModeWords {
    NodeMode mode;
    std::string_view words;
    std::string_view type;
};
constexpr auto kModes =
    std::to_array<ModeWords>({{NodeMode::none, "none", "Normal"},
                              {NodeMode::exclusive, "exclusive", "GPUExclusive"},
                              {NodeMode::share, "share", "GPUShare"}});

std::map<NodeName, std::vector<PluginPod>> plugin_pods(const ClusterFacts& cluster) {
    std::map<NodeName, std::vector<PluginPod>> out;
    for (std::size_t i = 0; i < cluster.pods.size(); ++i) {
        const PodInfo& pod = cluster.pods[i];
        const ShownPod& facts = cluster.shown_pods[i];
        if (pod.finished || pod.node.empty() || facts.plugin_gpus == 0) continue;
        out[pod.node].push_back({pod.name, facts.status, facts.plugin_gpus});
    }
    for (auto& [node, pods] : out) {
        std::ranges::sort(pods, {},
                          [](const PluginPod& p) { return std::tie(p.name.name, p.name.ns); });
    }
    return out;
}

std::map<PodUid, std::string> statuses_of(const ClusterFacts& cluster) {
    std::map<PodUid, std::string> out;
    for (std::size_t i = 0; i < cluster.pods.size(); ++i)
        out.emplace(cluster.pods[i].uid, cluster.shown_pods[i].status);
    return out;
}

}  // namespace

std::string_view words_of(NodeMode mode) {
    return std::ranges::find(kModes, mode, &ModeWords::mode)->words;
}

std::string_view type_of(NodeMode mode) {
    return std::ranges::find(kModes, mode, &ModeWords::mode)->type;
}

Result<NodeMode> parse_node_mode(std::string_view text) {
    for (const ModeWords& row : kModes) {
        if (!text.empty() && (text == row.words || text == row.words.substr(0, 1))) return row.mode;
    }
    return fail(
        Code::invalid_argument,
        fmt::format("--gpu-mode: \"{}\" is no mode; there are none, exclusive and share", text));
}

int NodeRow::gpus() const {
    if (mode == NodeMode::exclusive) return facts.plugin_gpus;
    return static_cast<int>(usage.inventory.gpus.size());
}

int NodeRow::unhealthy() const {
    if (mode == NodeMode::exclusive)
        return std::max(facts.plugin_gpus - facts.healthy_plugin_gpus, 0);
    return static_cast<int>(
        std::ranges::count(usage.inventory.gpus, GpuCondition::unhealthy, &Gpu::condition));
}

double NodeRow::allocated() const {
    double sum = 0;
    for (std::size_t i = 0; i < usage.inventory.gpus.size(); ++i) {
        const std::int64_t capacity = usage.inventory.gpus[i].capacity().count;
        if (capacity > 0)
            sum += static_cast<double>(usage.allocated(i).count) / static_cast<double>(capacity);
    }
    if (mode != NodeMode::exclusive) return sum;
    for (const PluginPod& pod : plugin_pods)
        sum += pod.gpus;
    return sum;
}

Bytes NodeRow::memory() const {
    Bytes sum;
    for (const Gpu& gpu : usage.inventory.gpus)
        sum += gpu.capacity();
    return sum;
}

Bytes NodeRow::allocated_memory() const {
    Bytes sum;
    for (std::size_t i = 0; i < usage.inventory.gpus.size(); ++i)
        sum += usage.allocated(i);
    return sum;
}

int NodeRow::allocated_cores(std::size_t gpu) const {
    constexpr int kAll = 100;
    const Bytes capacity = usage.inventory.gpus[gpu].capacity();
    const bool has_all = std::ranges::any_of(usage.pods, [&](const PodUsage& pod) {
        return capacity.count > 0 && pod.on_gpu[gpu] == capacity;
    });
    return has_all ? kAll : usage.allocated_cores(gpu).value;
}

int NodeRow::all_allocated_cores() const {
    int sum = 0;
    for (std::size_t i = 0; i < usage.inventory.gpus.size(); ++i)
        sum += allocated_cores(i);
    return sum;
}

std::vector<NodeRow> node_rows(ClusterFacts cluster) {
    std::map<NodeName, NodeUsage> shared;
    for (NodeUsage& node : usage_of(cluster.nodes, cluster.pods)) {
        if (!node.inventory.gpus.empty()) shared.emplace(node.inventory.name, std::move(node));
    }
    auto exclusive = plugin_pods(cluster);
    const auto statuses = statuses_of(cluster);
    std::vector<NodeRow> rows;
    rows.reserve(cluster.nodes.size());
    for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
        NodeRow row{.facts = std::move(cluster.shown_nodes[i])};
        const NodeName name = cluster.nodes[i].name;
        if (const auto found = shared.find(name); found != shared.end()) {
            row.mode = NodeMode::share;
            row.usage = std::move(found->second);
            row.statuses.reserve(row.usage.pods.size());
            for (const PodUsage& pod : row.usage.pods)
                row.statuses.push_back(statuses.at(pod.uid));
        } else {
            row.usage.inventory = std::move(cluster.nodes[i]);
        }
        if (row.mode == NodeMode::none && row.facts.plugin_gpus > 0) row.mode = NodeMode::exclusive;
        if (row.mode != NodeMode::none) row.plugin_pods = std::move(exclusive[name]);
        rows.push_back(std::move(row));
    }
    std::ranges::sort(rows, {}, [](const NodeRow& row) { return std::pair(row.mode, row.name()); });
    return rows;
}

std::vector<std::string> node_warnings(std::span<const NodeRow> rows) {
    std::vector<std::string> out;
    for (const NodeRow& row : rows) {
        if (const std::string& fault = row.usage.inventory.fault; !fault.empty())
            out.push_back(fmt::format("the GPUs of node {} are unknown: {}", row.name(), fault));
        if (row.mode != NodeMode::share || row.plugin_pods.empty()) continue;
        int gpus = 0;
        for (const PluginPod& pod : row.plugin_pods)
            gpus += pod.gpus;
        out.push_back(fmt::format(
            "pods on node {} also request {} nvidia.com/gpu, which are not counted: two systems "
            "assign the GPUs of this node (tessera doctor)",
            row.name(), gpus));
    }
    return out;
}

Result<std::vector<NodeRow>> chosen_rows(std::vector<NodeRow> rows,
                                         std::span<const std::string> names,
                                         std::optional<NodeMode> mode) {
    for (const std::string& name : names) {
        if (std::ranges::find(rows, name, &NodeRow::name) == rows.end())
            return fail(Code::not_found, fmt::format("nodes \"{}\" not found", name));
    }
    std::erase_if(rows, [&](const NodeRow& row) {
        const bool is_named = names.empty() || std::ranges::find(names, row.name()) != names.end();
        return !is_named || (mode && row.mode != *mode);
    });
    return rows;
}

}  // namespace tessera
