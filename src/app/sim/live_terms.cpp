#include "app/sim/live_terms.hpp"

#include <memory>
#include <utility>

#include "domain/cluster/islands.hpp"
#include "domain/placement/engine_terms.hpp"
#include "domain/placement/place.hpp"

namespace tessera {
namespace {

NodeInventory inventory_of(const SnapshotNode& node) {
    NodeInventory out{.name = NodeName(node.name), .unit = node.unit, .host = node.host};
    for (const SnapshotCard& card : node.cards) {
        const auto index = static_cast<int>(out.gpus.size());
        out.gpus.push_back(
            {.uuid = card.uuid.empty() ? uuid_of_index(index) : card.uuid,
             .index = index,
             .model = card.model,
             .memory = card.memory,
             .excess = card.excess,
             .condition = card.healthy ? GpuCondition::healthy : GpuCondition::unhealthy,
             .links = card.links});
    }
    return out;
}

TenantPtr tenant_of(const LiveTenant& live, const std::vector<Gpu>& gpus) {
    const CardRules& rules = rules_of(live.ask->request);
    Tenant tenant{.uid = live.ask->uid,
                  .name = live.pod->name,
                  .groups = rules.groups(),
                  .together = rules.together};
    for (const SnapshotHolder& holder : live.pod->holds) {
        ContainerAllocation given{.kind = holder.kind};
        for (const SnapshotShare& share : holder.shares) {
            given.gpus.push_back({.uuid = gpus[static_cast<std::size_t>(share.card)].uuid,
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

Result<PodAsk> ask_of(const SnapshotPod& pod) {
    const auto rules = parse_card_rules(pod.card_rules, pod.name.space);
    if (!rules) return fail(rules.error().in("pod " + pod.name.str()));
    PodAsk ask{.uid = PodUid(pod.name.str()), .name = pod.name, .host = pod.host};
    for (const SnapshotAsk& one : pod.asks) {
        ask.request.push_back(
            {.kind = one.kind,
             .gpu = {.gpus = one.gpus, .memory = one.memory, .cores = one.cores, .rules = *rules}});
    }
    return ask;
}

NodeView view_of(const SnapshotNode& node, int model, const std::vector<LiveTenant>& tenants) {
    NodeView view{.inventory = inventory_of(node)};
    view.cards = empty_cards(view.inventory.gpus);
    view.islands = islands_of(view.inventory.gpus);
    HostAsk used = node.others;
    for (const LiveTenant& tenant : tenants) {
        view.tenants.push_back(tenant_of(tenant, view.inventory.gpus));
        count_holds(*view.tenants.back(), view.inventory.gpus, view.cards, 1);
        used.cpu_milli += tenant.pod->host.cpu_milli;
        used.memory += tenant.pod->host.memory;
    }
    view.load = load_of(view, model, used);
    return view;
}

}  // namespace tessera
