#include "domain/defrag/movable.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::defrag {
namespace {

bool holds_for(const LabelTerm& term, const Labels& labels) {
    const auto label = labels.find(term.key);
    const bool is_there = label != labels.end();
    const auto is_listed = [&] {
        return std::ranges::find(term.values, label->second) != term.values.end();
    };
    switch (term.kind) {
        case LabelTerm::Kind::in:
            return is_there && is_listed();
        case LabelTerm::Kind::not_in:
            return !is_there || !is_listed();
        case LabelTerm::Kind::exists:
            return is_there;
        case LabelTerm::Kind::absent:
            return !is_there;
    }
    return true;
}

}  // namespace

bool covers(const Budget& budget, const PodState& pod) {
    if (budget.name.space != pod.name.space) return false;
    return !budget.selector || std::ranges::all_of(*budget.selector, [&](const LabelTerm& term) {
        return holds_for(term, pod.labels);
    });
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
        if (!budget.selector)
            return fmt::format("PodDisruptionBudget {} cannot be read", budget.name.str());
        if (budget.allowed <= 0)
            return fmt::format("PodDisruptionBudget {} allows no disruption now",
                               budget.name.str());
    }
    return std::nullopt;
}

}  // namespace tessera::defrag
