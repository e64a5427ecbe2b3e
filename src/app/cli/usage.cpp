#include "app/cli/usage.hpp"

#include <algorithm>
#include <tuple>

#include "domain/request/dialect.hpp"

namespace tessera {
namespace {

// What the pod asks for in all, where no card is named.
Bytes asked(const PodFacts& pod, const NodeInventory& node) {
    const auto request = parse_pod_request(pod.containers);
    if (!request) return {};
    Bytes largest;
    for (const Gpu& gpu : node.gpus)
        largest = std::max(largest, gpu.capacity());
    Bytes total;
    for (const ContainerRequest& container : *request) {
        const Bytes each = bytes_of(container.gpu.memory, node.unit, largest);
        total += Bytes{each.count * container.gpu.gpus};
    }
    return total;
}

PodUsage usage_of_pod(const PodFacts& pod, const NodeInventory& node) {
    const std::size_t cards = node.gpus.size();
    PodUsage usage{pod.uid, pod.name, std::vector<Bytes>(cards), std::vector<Percent>(cards),
                   {},      {}};
    const auto put = [&](const auto& card, Bytes amount, Percent cores) {
        if (card == node.gpus.end()) {
            usage.elsewhere += amount;
        } else {
            const auto at = static_cast<std::size_t>(card - node.gpus.begin());
            usage.on_card[at] += amount;
            usage.cores_on_card[at] = usage.cores_on_card[at] + cores;
        }
    };
    if (const Allocation* own = own_allocation(pod)) {
        for (const Hold& hold : holds(own->containers)) {
            put(std::ranges::find(node.gpus, hold.uuid, &Gpu::uuid), hold.memory, hold.cores);
        }
    } else if (is_gpushares(pod, node.source)) {
        for (const LegacyAllocation::Share& share : pod.legacy->shares) {
            put(std::ranges::find(node.gpus, share.index, &Gpu::index),
                Bytes{share.units * bytes_per_unit(node.unit).count}, {});
        }
    } else {
        usage.pending = asked(pod, node);
    }
    return usage;
}

}  // namespace

Bytes NodeUsage::held(std::size_t card) const {
    Bytes sum = inventory.gpus[card].excess;
    for (const PodUsage& pod : pods)
        sum += pod.on_card[card];
    return sum;
}

Percent NodeUsage::cores_held(std::size_t card) const {
    Percent sum;
    for (const PodUsage& pod : pods)
        sum = sum + pod.cores_on_card[card];
    return sum;
}

Bytes NodeUsage::pending() const {
    Bytes sum;
    for (const PodUsage& pod : pods)
        sum += pod.pending;
    return sum;
}

std::vector<NodeUsage> usage_of(std::vector<NodeInventory> nodes, std::span<const PodFacts> pods) {
    std::vector<NodeUsage> out;
    for (NodeInventory& node : nodes) {
        if (node.gpus.empty() && node.gpu_mem <= 0) continue;
        out.push_back({std::move(node), {}});
    }
    std::ranges::sort(out, {}, [](const NodeUsage& n) { return n.inventory.name; });
    for (const PodFacts& pod : pods) {
        if (pod.finished || pod.node.empty() || !asks_for_gpus(pod)) continue;
        const auto node = std::ranges::lower_bound(
            out, pod.node, {}, [](const NodeUsage& n) { return n.inventory.name; });
        if (node == out.end() || node->inventory.name != pod.node) continue;
        node->pods.push_back(usage_of_pod(pod, node->inventory));
    }
    for (NodeUsage& node : out) {
        std::ranges::sort(node.pods, {},
                          [](const PodUsage& p) { return std::tie(p.name.name, p.name.space); });
    }
    return out;
}

}  // namespace tessera
