#include "app/scheduler/refusals.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.hpp"
#include "domain/placement/nominees.hpp"

namespace tessera {

void Refusals::add(std::size_t i, std::uint32_t position) {
    const Why why = why_of(position);
    Class& of = class_of(why.obstacle);
    if (of.reasons <= kFew && is_new(of, why.misfit)) ++of.reasons;
    if (why.misfit == nullptr) {
        if (of.reasons == 1) of.first = reason_naming({i, position, why});
    } else if (of.most == nullptr || of.most->most < why.misfit->most) {
        of.most = why.misfit;
    }
    if (refused_.empty()) refused_.reserve(args_.names.size());
    refused_.push_back({i, position, why});
}

void Refusals::write(FilterAnswer& answer) {
    for (Class& of : classes_) {
        if (of.reasons > kFew) of.together = together_of(of);
    }
    answer.failed.reserve(refused_.size());
    for (const Refused& node : refused_) {
        const auto& [obstacle, misfit] = node.why;
        const bool never = misfit != nullptr ? misfit->never : obstacle == Obstacle::no_gpu;
        (never ? answer.unresolvable : answer.failed).push_back({node.i, reason_of(node)});
        if (!answer.obstacle || obstacle < *answer.obstacle) answer.obstacle = obstacle;
    }
}

Refusals::Why Refusals::why_of(std::uint32_t position) {
    if (position == NameIndex::kNone) return {Obstacle::unknown_node};
    const PlacementRow& row = view_.row(position);
    if (row.open) {
        const bool fits_but_for_nominees =
            row.promised && placer_.try_node(row.node->offer()) != nullptr;
        if (fits_but_for_nominees) return {Obstacle::kept};
        const Misfit& misfit = explainer_.explain(row);
        return {misfit.obstacle, &misfit};
    }
    return {row.node->blocked.empty() ? Obstacle::no_gpu : Obstacle::blocked};
}

std::string Refusals::reason_of(const Refused& node) const {
    const Class& of = class_of(node.why.obstacle);
    if (!of.together.empty()) return of.together;
    if (node.why.misfit != nullptr) return node.why.misfit->reason;
    return reason_naming(node);
}

std::string Refusals::reason_naming(const Refused& refused) const {
    const auto& [i, position, why] = refused;
    if (position == NameIndex::kNone) return fmt::format("node \"{}\" not found", args_.names[i]);
    const NodeView& node = *view_.row(position).node;
    if (!node.blocked.empty()) return blocked_for(node, reader());
    if (why.obstacle == Obstacle::kept)
        return kept_for(node, {args_.pod.uid, args_.pod.priority}, reader());
    return fmt::format("The node {} is not for GPU share, need skip", args_.names[i]);
}

Reader Refusals::reader() const {
    return args_.reads_all ? Reader::of_all() : Reader::of(args_.pod.name.space);
}

std::string Refusals::together_of(const Class& of) const {
    if (of.most != nullptr) return explainer_.explain_many(*of.most);
    return "several nodes like this one: " + of.first;
}

bool Refusals::is_new(Class& of, const Misfit* misfit) {
    if (misfit == nullptr) return true;
    const auto end = of.seen.begin() + static_cast<std::ptrdiff_t>(std::min(of.reasons, kFew));
    if (std::find(of.seen.begin(), end, misfit) != end) return false;
    if (of.reasons < kFew) of.seen.at(of.reasons) = misfit;
    return true;
}

void give_missing_reasons(const ExtenderArgs& args, FilterAnswer& answer) {
    if (!answer.fitting.empty()) return;
    if (answer.failed.size() + answer.unresolvable.size() >= args.names.size()) return;
    std::vector<char> has_reason(args.names.size());
    for (const auto* refusals : {&answer.failed, &answer.unresolvable}) {
        for (const Refusal& refusal : *refusals)
            has_reason[refusal.node] = 1;
    }
    for (std::size_t i = 0; i < has_reason.size(); ++i) {
        if (has_reason[i] == 0)
            answer.failed.push_back({i, "no reason is known; the pod is tried again"});
    }
    log_event(Event::reason_missing, {{"pod", args.pod.name.str()}});
}

}  // namespace tessera
