#include "domain/placement/victims.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

#include "domain/placement/nominees.hpp"
#include "domain/placement/place.hpp"

namespace tessera {
namespace {

using Tenants = std::vector<const Tenant*>;

// The node's cards, of which pods are taken away and put back.
class Trial {
  public:
    Trial(const NodeView& node, const PodAsk& pod)
        : node_(node), pod_(pod), placer_(pod.request), cards_(node.cards) {}

    void remove(const Tenant& tenant) { count_holds(tenant, node_.inventory.gpus, cards_, -1); }
    void put_back(const Tenant& tenant) { count_holds(tenant, node_.inventory.gpus, cards_, 1); }
    [[nodiscard]] bool fits() {
        std::vector<Card> cards = cards_;
        count_nominees(node_, {pod_.uid, pod_.priority}, cards);
        const RoomLeft left(std::move(cards));
        return placer_.try_node(left.offer(node_)) != nullptr;
    }

  private:
    const NodeView& node_;
    const PodAsk& pod_;
    Placer placer_;
    std::vector<Card> cards_;
};

std::int64_t memory_of(const Tenant& tenant) {
    return std::accumulate(
        tenant.holds.begin(), tenant.holds.end(), std::int64_t{0},
        [](std::int64_t sum, const Hold& hold) { return sum + hold.memory.count; });
}

// The most important first; among equals the smallest, so that few large ones go and not many
// small.
bool spared_before(const Tenant* a, const Tenant* b) {
    return std::tuple(-a->priority, memory_of(*a), a->name, a->uid) <
           std::tuple(-b->priority, memory_of(*b), b->name, b->uid);
}

// What to make as small as possible. `victims` is not empty.
auto cost_of(const Tenants& victims) {
    std::int64_t sum = 0;
    for (const Tenant* victim : victims)
        sum += victim->priority;
    return std::tuple(victims.front()->priority, victims.size(), sum);
}

bool is_one_of(const PodUid& uid, std::span<const PodUid> pods) {
    return std::ranges::find(pods, uid) != pods.end();
}

// Those of `candidates` that cannot be spared; nothing where not even all of them make room.
std::optional<Tenants> needed_of(Trial trial, Tenants candidates) {
    for (const Tenant* tenant : candidates)
        trial.remove(*tenant);
    if (!trial.fits()) return std::nullopt;
    std::ranges::sort(candidates, spared_before);
    Tenants victims;
    for (const Tenant* tenant : candidates) {
        trial.put_back(*tenant);
        if (trial.fits()) continue;
        trial.remove(*tenant);
        victims.push_back(tenant);
    }
    return victims;
}

}  // namespace

bool is_mate(const Tenant& tenant, const PodAsk& pod) {
    const auto& group = rules_of(pod.request).together;
    return group && tenant.together == group;
}

Preemption plan_preemption(const NodeView& node, const PodAsk& pod, std::span<const PodUid> ending,
                           std::span<const PodUid> guarded) {
    Preemption plan;
    if (!node.blocked.empty() || node.cards.empty()) return plan;
    Placer placer(pod.request);
    if (try_left(placer, node, {pod.uid, pod.priority}) != nullptr) {
        plan.kind = Preemption::Kind::fits;
        return plan;
    }
    Trial trial(node, pod);
    Tenants lower;
    for (const TenantPtr& tenant : node.tenants) {
        if (tenant->terminating || is_one_of(tenant->uid, ending)) {
            trial.remove(*tenant);
        } else if (tenant->stage == Stage::seen && tenant->priority < pod.priority &&
                   !is_one_of(tenant->uid, guarded) && !is_mate(*tenant, pod)) {
            lower.push_back(tenant.get());
        }
    }
    if (trial.fits()) {
        plan.kind = Preemption::Kind::soon;
        return plan;
    }
    const auto consider = [&](Tenants candidates) {
        auto needed = needed_of(trial, std::move(candidates));
        if (!needed) return;
        const bool is_first = plan.kind == Preemption::Kind::never;
        if (!is_first && cost_of(*needed) >= cost_of(plan.victims)) return;
        plan = {Preemption::Kind::evict, *std::move(needed)};
    };
    for (const Gpu& gpu : node.inventory.gpus) {
        Tenants here;
        for (const Tenant* tenant : lower) {
            const bool is_here = std::ranges::any_of(tenant->holds, [&](const Hold& hold) {
                return find_gpu(node.inventory.gpus, hold.uuid) == &gpu;
            });
            if (is_here) here.push_back(tenant);
        }
        consider(std::move(here));
    }
    consider(lower);
    return plan;
}

bool costs_less(const Preemption& a, const Preemption& b) {
    return cost_of(a.victims) < cost_of(b.victims);
}

}  // namespace tessera
