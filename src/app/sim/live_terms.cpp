#include "app/sim/live_terms.hpp"

#include <memory>
#include <utility>

#include "domain/cluster/view.hpp"
#include "domain/placement/engine_terms.hpp"

namespace tessera {
namespace {

NodeInventory inventory_of(const SnapshotNode& node) {
    NodeInventory out{.name = NodeName(node.name), .unit = node.unit, .host = node.host};
    for (const SnapshotCard& card : node.cards) {
        const auto index = static_cast<int>(out.gpus.size());
        out.gpus.push_back({.uuid = uuid_of_index(index),
                            .index = index,
                            .model = card.model,
                            .memory = card.memory,
                            .excess = card.excess,
                            .healthy = card.healthy});
    }
    return out;
}

TenantPtr tenant_of(const SnapshotPod& pod) {
    Tenant tenant{.name = pod.name};
    for (const SnapshotHolder& holder : pod.holds) {
        ContainerAllocation given{.kind = holder.kind};
        for (const SnapshotShare& share : holder.shares) {
            given.gpus.push_back({.uuid = uuid_of_index(share.card),
                                  .index = share.card,
                                  .memory = share.memory,
                                  .cores = share.cores,
                                  .whole = share.whole});
        }
        tenant.allocation.containers.push_back(std::move(given));
    }
    tenant.holds = holds(tenant.allocation.containers);
    return std::make_shared<const Tenant>(std::move(tenant));
}

}  // namespace

NodeLoad load_with(const SnapshotNode& node, int model,
                   const std::vector<const SnapshotPod*>& pods) {
    NodeView view{.inventory = inventory_of(node)};
    for (const Gpu& gpu : view.inventory.gpus) {
        view.cards.push_back(
            {.capacity = gpu.capacity(), .healthy = gpu.healthy, .excess = gpu.excess});
    }
    HostAsk used = node.others;
    for (const SnapshotPod* pod : pods) {
        view.tenants.push_back(tenant_of(*pod));
        count_holds(*view.tenants.back(), view.inventory.gpus, view.cards, 1);
        used.cpu_milli += pod->host.cpu_milli;
        used.memory += pod->host.memory;
    }
    return load_of(view, model, used);
}

PodAsk ask_of(const SnapshotPod& pod) {
    PodAsk ask{.name = pod.name, .host = pod.host};
    for (const SnapshotAsk& one : pod.asks) {
        ask.request.push_back(
            {.kind = one.kind,
             .gpu = {.gpus = one.gpus, .memory = one.memory, .cores = one.cores}});
    }
    return ask;
}

}  // namespace tessera
