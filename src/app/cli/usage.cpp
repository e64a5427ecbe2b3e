#include "app/cli/usage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "app/cli/node_names.hpp"

namespace tessera {
namespace {

// The pod's total request, if no GPU is named.
Bytes requested(const PodInfo& pod, const NodeInventory& node) {
    if (!pod.request) return {};
    Bytes largest;
    for (const Gpu& gpu : node.gpus)
        largest = std::max(largest, gpu.capacity());
    Bytes total;
    for (const ContainerRequest& container : *pod.request) {
        const Bytes each = bytes_of(container.gpu.memory, node.unit, largest);
        total += Bytes{each.count * container.gpu.gpus};
    }
    return total;
}

PodUsage usage_of_pod(const PodInfo& pod, const NodeInventory& node) {
    const std::size_t gpus = node.gpus.size();
    PodUsage usage{pod.uid, pod.name, std::vector<Bytes>(gpus), std::vector<Percent>(gpus), {}, {}};
    const auto put = [&](const auto& gpu, Bytes amount, Percent cores) {
        if (gpu == node.gpus.end()) {
            usage.elsewhere += amount;
        } else {
            const auto at = static_cast<std::size_t>(gpu - node.gpus.begin());
            usage.on_gpu[at] += amount;
            usage.cores_on_gpu[at] = usage.cores_on_gpu[at] + cores;
        }
    };
    if (const Allocation* own = own_allocation(pod)) {
        for (const GpuAllocation& on_gpu : allocated_by_gpu(own->containers)) {
            put(std::ranges::find(node.gpus, on_gpu.uuid, &Gpu::uuid), on_gpu.memory, on_gpu.cores);
        }
    } else if (is_legacy(pod, node.source)) {
        for (const LegacyAllocation::Share& share : pod.legacy->shares) {
            put(std::ranges::find(node.gpus, share.index, &Gpu::index),
                Bytes{share.units * bytes_per_unit(node.unit).count}, {});
        }
    } else {
        usage.pending = requested(pod, node);
    }
    return usage;
}

}  // namespace

Bytes NodeUsage::allocated(std::size_t gpu) const {
    Bytes sum = inventory.gpus[gpu].over_limit;
    for (const PodUsage& pod : pods)
        sum += pod.on_gpu[gpu];
    return sum;
}

Percent NodeUsage::allocated_cores(std::size_t gpu) const {
    Percent sum;
    for (const PodUsage& pod : pods)
        sum = sum + pod.cores_on_gpu[gpu];
    return sum;
}

Bytes NodeUsage::pending() const {
    Bytes sum;
    for (const PodUsage& pod : pods)
        sum += pod.pending;
    return sum;
}

std::vector<NodeUsage> usage_of(std::vector<NodeInventory> nodes, std::span<const PodInfo> pods) {
    std::vector<NodeUsage> out;
    for (NodeInventory& node : nodes) {
        if (node.gpus.empty() && node.gpu_mem <= 0) continue;
        out.push_back({.inventory = std::move(node)});
    }
    std::ranges::sort(out, {}, [](const NodeUsage& n) { return n.inventory.name; });
    for (const PodInfo& pod : pods) {
        if (pod.finished || pod.node.empty() || !asks_for_gpus(pod)) continue;
        const auto node = std::ranges::lower_bound(
            out, pod.node, {}, [](const NodeUsage& n) { return n.inventory.name; });
        if (node == out.end() || node->inventory.name != pod.node) continue;
        node->pods.push_back(usage_of_pod(pod, node->inventory));
    }
    for (NodeUsage& node : out) {
        std::ranges::sort(node.pods, {},
                          [](const PodUsage& p) { return std::tie(p.name.name, p.name.ns); });
    }
    return out;
}

void set_agents(std::span<NodeUsage> nodes, const std::set<NodeName>& with_ready_agent) {
    for (NodeUsage& node : nodes) {
        node.agent_ready = node.inventory.source == InventorySource::legacy ||
                           with_ready_agent.contains(node.inventory.name);
    }
}

std::string agents_text(std::span<const NodeUsage> nodes) {
    std::vector<NodeName> without;
    for (const NodeUsage& node : nodes) {
        if (!node.agent_ready) without.push_back(node.inventory.name);
    }
    if (without.empty()) return {};
    return fmt::format(
        "no agent is ready on {}: the health of the GPUs there is unknown, and they "
        "are shown as they were reported last (tessera doctor, check agents)",
        names_of_nodes(without));
}

}  // namespace tessera
