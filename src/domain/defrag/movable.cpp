#include "domain/defrag/movable.hpp"

#include <fmt/format.h>

namespace tessera::defrag {

bool is_made_at_once(const Owner& owner) {
    return owner.kind == "ReplicaSet" || owner.kind == "ReplicationController";
}

bool covers(const Budget& budget, const PodState& pod) {
    if (budget.name.space != pod.name.space) return false;
    return !budget.selector || match(*budget.selector, pod.labels);
}

std::optional<std::string> why_it_stays(const PodState& pod, std::span<const Budget> budgets) {
    if (pod.finished) return "finished";
    if (pod.terminating) return "ending already";
    if (pod.mirror) return "run by its node's kubelet";
    if (!pod.allowed) return fmt::format("no annotation {}: \"true\"", kMovable);
    if (!pod.owner) return "no controller that would make it anew";
    // Its new pod would be for the same node; and a Node owns what its kubelet made.
    if (pod.owner->kind == "DaemonSet" || pod.owner->kind == "Node")
        return fmt::format("of a {}, which makes none elsewhere", pod.owner->kind);
    for (const Budget& budget : budgets) {
        if (!covers(budget, pod)) continue;
        if (!budget.selector) {
            return fmt::format("PodDisruptionBudget {} cannot be read", budget.name.str());
        }
        if (budget.allowed <= 0) {
            return fmt::format("PodDisruptionBudget {} allows no disruption now",
                               budget.name.str());
        }
    }
    return std::nullopt;
}

}  // namespace tessera::defrag
