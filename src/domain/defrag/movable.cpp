#include "domain/defrag/movable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tessera::defrag {

namespace {

constexpr std::string_view kJob = "Job";

struct Controller {
    std::string_view kind;
    Replacement makes;
};

constexpr auto kControllers = std::to_array<Controller>({
    {"ReplicaSet", Replacement::at_once},
    {"ReplicationController", Replacement::at_once},
    {"StatefulSet", Replacement::once_gone},
});

}  // namespace

Replacement replacement_by(const Owner& owner, const std::set<std::string>& waiting_jobs) {
    if (owner.kind == kJob && waiting_jobs.contains(owner.uid)) return Replacement::once_gone;
    const auto* const known = std::ranges::find(kControllers, owner.kind, &Controller::kind);
    return known == kControllers.end() ? Replacement::unknown : known->makes;
}

bool is_movable_of_a_job(const PodState& pod) {
    return pod.allowed && pod.owner && pod.owner->kind == kJob;
}

bool covers(const Budget& budget, const PodState& pod) {
    if (budget.name.ns != pod.name.ns) return false;
    return !budget.selector || match(*budget.selector, pod.labels);
}

std::optional<std::string> why_it_stays(const PodState& pod, std::span<const Budget> budgets) {
    if (pod.finished) return "finished";
    if (pod.terminating) return "terminating already";
    if (pod.mirror) return "a static pod of its node's kubelet";
    if (!pod.allowed) return fmt::format("no annotation {}: \"true\"", kMovable);
    if (!pod.owner) return "no controller that would create it again";
    // A DaemonSet creates the new pod for the same node. A Node owns the static pods of its
    // kubelet.
    if (pod.owner->kind == "DaemonSet" || pod.owner->kind == "Node")
        return fmt::format("of a {}, which creates none elsewhere", pod.owner->kind);
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
