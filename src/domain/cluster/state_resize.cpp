// ClusterState's part in changing what a pod holds while it runs.
#include <fmt/format.h>

#include "domain/cluster/state.hpp"
#include "domain/placement/nominees.hpp"

namespace tessera {

void ClusterState::note_wish(const PodFacts& pod) {
    const Allocation* own = pod.resize ? own_allocation(pod) : nullptr;
    const bool is_open = pod.resize && !pod.terminating && !pod.node.empty() &&
                         !pod.containers.empty() &&
                         (!*pod.resize || own == nullptr || !is_granted(**pod.resize, *own));
    if (is_open) {
        wishes_.insert_or_assign(pod.uid, pod.name);
    } else {
        wishes_.erase(pod.uid);
    }
}

// What may change of a pod that was shown bound.
void ClusterState::update_seen(const Tenant& held, const PodFacts& pod) {
    const Allocation* own = own_allocation(pod);
    const bool is_resized = own != nullptr && is_resize_of(held.allocation, *own);
    if (held.terminating == pod.terminating && !is_resized) return;
    Tenant tenant = held;
    tenant.terminating = pod.terminating;
    if (is_resized) {
        tenant.allocation = *own;
        tenant.resizing.reset();
        tenant.holds = holds(own->containers);
    }
    hold(std::move(tenant));
}

Result<ResizeTurn> ClusterState::begin_resize(const PodFacts& pod, bool is_over) {
    const auto at = tenants_.find(pod.uid);
    const Allocation* own = own_allocation(pod);
    if (pod.node.empty() ||
        (own != nullptr && (at == tenants_.end() || at->second->stage != Stage::seen))) {
        return ResizeTurn{.kind = ResizeTurn::Kind::later};
    }
    if (own == nullptr) {
        return fail(Code::unsupported,
                    "the pod has no share that Tessera gave it, so there is nothing to resize");
    }
    const TenantPtr found = at->second;  // end_resize puts another in its place
    const Allocation& held = found->allocation;
    if (is_resize_of(held, *own)) return ResizeTurn{.kind = ResizeTurn::Kind::later};
    if (is_over) end_resize(pod.uid);
    if (!pod.resize) return ResizeTurn{};
    if (!*pod.resize) return fail(pod.resize->error());
    if (*own != held) {
        return fail(Code::conflict,
                    "the pod's annotation tessera.dev/allocation was changed by somebody else; "
                    "delete the pod");
    }
    if (is_granted(**pod.resize, held)) return ResizeTurn{};
    if (!pod.is_guarded) {
        return fail(Code::unsupported,
                    "the pod is not held by the guard (annotation tessera.dev/enforced-by), so "
                    "what it has cannot change while it runs");
    }
    Tenant tenant = *tenants_.at(pod.uid);
    const NodeView now = build(nodes_.at(pod.node));
    const std::vector<Gpu>& gpus = now.inventory.gpus;
    const auto try_on = [&](std::vector<Card> cards) {
        count_holds(tenant, gpus, cards, -1);
        return resize(tenant.allocation, **pod.resize, {gpus, cards, now.inventory.unit});
    };
    const Asker asker{pod.uid, pod.priority};
    auto after = try_on(cards_left(now, asker));
    if (!after && after.error().code == Code::unavailable && try_on(now.cards))
        return fail(Code::unavailable, kept_for(now, asker, Reader::of(pod.name.space)));
    if (!after) return fail(after.error());
    const auto wanted = holds(after->containers);
    const auto before = holds(tenant.allocation.containers);
    // Nobody can tell what is free there. Less is always given back.
    if (!now.blocked.empty() && larger(before, wanted) != before)
        return fail(Code::unavailable, blocked_for(now, Reader::of(pod.name.space)));
    tenant.resizing = *after;
    tenant.holds = larger(before, wanted);
    ResizeTurn turn{.kind = ResizeTurn::Kind::write,
                    .before = tenant.allocation,
                    .after = *std::move(after),
                    .node = now.inventory};
    hold(std::move(tenant));
    return turn;
}

void ClusterState::end_resize(const PodUid& uid) {
    const auto at = tenants_.find(uid);
    if (at == tenants_.end() || !at->second->resizing) return;
    Tenant tenant = *at->second;
    tenant.resizing.reset();
    tenant.holds = holds(tenant.allocation.containers);
    hold(std::move(tenant));
}

}  // namespace tessera
