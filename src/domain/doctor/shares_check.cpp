#include "domain/doctor/shares_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "domain/events/pod_event.hpp"

namespace tessera::doctor {

Judgement shares(const Facts& facts) {
    if (!facts.nodes) return unread(facts.nodes.error());
    if (!facts.pods) return unread(facts.pods.error());
    std::set<NodeName> holding;
    Faults others;
    for (const Node& node : *facts.nodes) {
        const NodeInventory& inventory = node.inventory;
        if (inventory.shares == Holding::guard) holding.insert(inventory.name);
        if (inventory.shares == Holding::none && node.has_report) others.add(inventory.name.str());
    }
    if (holding.empty()) {
        return {Status::ok,
                "nothing holds them: the guard is not deployed (deploy/guard, docs/guard.md)", ""};
    }
    if (others.any()) {
        return {
            Status::warning, "the guard holds shares on other nodes, and not on " + others.text(),
            fmt::format("are all agents of one release and one kustomization? kubectl -n {} get "
                        "pods -l component=agent -o yaml (--guard-library)",
                        facts.space)};
    }
    Faults free;
    int held = 0;
    for (const Pod& pod : *facts.pods) {
        const Allocation* own = own_allocation(pod.facts);
        if (pod.facts.finished || own == nullptr) continue;
        if (std::ranges::none_of(own->containers, has_share)) continue;
        if (pod.facts.is_guarded) {
            ++held;
        } else {
            free.add(fmt::format("{} on {}", pod.facts.name.str(), pod.facts.node.str()));
        }
    }
    if (free.any()) {
        return {Status::warning,
                "placed before the guard was there, so nothing holds " + free.text(),
                "make these pods anew when it suits their users"};
    }
    if (!facts.troubles) return unread(facts.troubles.error());
    Faults damaged;
    Faults past;
    for (const ShareTrouble& trouble : *facts.troubles) {
        const auto pod =
            std::ranges::find(*facts.pods, trouble.pod, [](const Pod& of) { return of.facts.uid; });
        if (pod == facts.pods->end()) continue;
        (trouble.reason == kAccountsDamaged ? damaged : past).add(pod->facts.name.str());
    }
    if (past.any()) {
        return {Status::warning, "went past the guard within the hour: " + past.text(),
                "what did they run? kubectl describe pod; deploy/end-evaders ends such pods"};
    }
    if (damaged.any()) {
        return {Status::warning,
                "cut or overwrote their accounts within the hour: " + damaged.text(),
                "they get no more GPU memory until their container starts again: make them anew"};
    }
    return {Status::ok,
            fmt::format("the guard is on {} nodes and holds {} pods", holding.size(), held), ""};
}

}  // namespace tessera::doctor
