#include "app/scheduler/filter/diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.hpp"
#include "domain/placement/nominees.hpp"

namespace tessera {

void Diagnosis::add(std::size_t i, std::uint32_t position) {
    const Why why = why_of(position);
    Class& of = class_of(why.reason);
    if (of.reasons <= kFew && is_new(of, why.fit_error)) ++of.reasons;
    if (why.fit_error == nullptr) {
        if (of.reasons == 1) of.first = reason_naming({i, position, why});
    } else if (of.most == nullptr || of.most->most < why.fit_error->most) {
        of.most = why.fit_error;
    }
    if (refused_.empty()) refused_.reserve(args_.names.size());
    refused_.push_back({i, position, why});
}

void Diagnosis::write(FilterAnswer& answer) {
    for (Class& of : classes_) {
        if (of.reasons > kFew) of.together = together_of(of);
    }
    answer.failed.reserve(refused_.size());
    for (const Refused& node : refused_) {
        const auto& [reason, fit_error] = node.why;
        const bool never =
            fit_error != nullptr ? fit_error->never : reason == UnschedulableReason::no_gpu;
        (never ? answer.unresolvable : answer.failed).push_back({node.i, reason_of(node)});
        if (!answer.reason || reason < *answer.reason) answer.reason = reason;
    }
}

Diagnosis::Why Diagnosis::why_of(std::uint32_t position) {
    if (position == NameIndex::kNone) return {UnschedulableReason::unknown_node};
    const PlacementRow& row = snapshot_.row(position);
    if (row.open) {
        const bool fits_but_for_nominees =
            row.has_nominees && placer_.try_node(row.node->node_gpus()) != nullptr;
        if (fits_but_for_nominees) return {UnschedulableReason::reserved};
        const FitError& fit_error = explainer_.explain(row);
        return {fit_error.reason, &fit_error};
    }
    return {row.node->blocked.empty() ? UnschedulableReason::no_gpu : UnschedulableReason::blocked};
}

std::string Diagnosis::reason_of(const Refused& node) const {
    const Class& of = class_of(node.why.reason);
    if (!of.together.empty()) return of.together;
    if (node.why.fit_error != nullptr) return node.why.fit_error->message;
    return reason_naming(node);
}

std::string Diagnosis::reason_naming(const Refused& refused) const {
    const auto& [i, position, why] = refused;
    if (position == NameIndex::kNone) return fmt::format("node \"{}\" not found", args_.names[i]);
    const NodeInfo& node = *snapshot_.row(position).node;
    if (!node.blocked.empty()) return blocked_for(node, reader());
    if (why.reason == UnschedulableReason::reserved)
        return reserved_for(node, {args_.pod.uid, args_.pod.priority}, reader());
    return fmt::format("The node {} is not for GPU share, need skip", args_.names[i]);
}

Reader Diagnosis::reader() const {
    return args_.reads_all ? Reader::of_all() : Reader::of(args_.pod.name.ns);
}

std::string Diagnosis::together_of(const Class& of) const {
    if (of.most != nullptr) return explainer_.explain_many(*of.most);
    return "several nodes like this one: " + of.first;
}

bool Diagnosis::is_new(Class& of, const FitError* fit_error) {
    if (fit_error == nullptr) return true;
    const auto end = of.seen.begin() + static_cast<std::ptrdiff_t>(std::min(of.reasons, kFew));
    if (std::find(of.seen.begin(), end, fit_error) != end) return false;
    if (of.reasons < kFew) of.seen.at(of.reasons) = fit_error;
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
