#include "domain/doctor/shares_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "domain/doctor/share_reports.hpp"

namespace tessera::doctor {
namespace {

// As their agents found at their start.
Faults nodes_that_cannot(const std::vector<Node>& nodes) {
    Faults unable;
    for (const Node& node : nodes) {
        const NodeInventory& inventory = node.inventory;
        if (inventory.enforcement_fault.empty()) continue;
        unable.add(fmt::format("{}: {}", inventory.name.str(), inventory.enforcement_fault));
    }
    return unable;
}

// The worst kind of the reports of the last hour; nothing if there is none.
std::optional<Judgement> judge_reports(const std::vector<ShareReport>& reports,
                                       const std::vector<Pod>& pods) {
    for (const ShareReportRow& row : kShareReports) {
        Faults found;
        for (const ShareReport& report : reports) {
            if (report.reason != row.reason) continue;
            const auto pod =
                std::ranges::find(pods, report.pod, [](const Pod& of) { return of.info.uid; });
            if (pod != pods.end()) found.add(pod->info.name.str());
        }
        if (found.any()) return Judgement{Status::warning, row.found + found.text(), row.fix};
    }
    return std::nullopt;
}

}  // namespace

Judgement shares(const Facts& facts) {
    if (!facts.nodes) return unread(facts.nodes.error());
    if (!facts.pods) return unread(facts.pods.error());
    std::set<NodeName> enforcing;
    Faults others;
    for (const Node& node : *facts.nodes) {
        const NodeInventory& inventory = node.inventory;
        if (inventory.shares == EnforcementMode::guard) enforcing.insert(inventory.name);
        if (inventory.shares == EnforcementMode::none && node.has_report)
            others.add(inventory.name.str());
    }
    if (const Faults unable = nodes_that_cannot(*facts.nodes); unable.any()) {
        return {Status::failed, unable.text(),
                "until then, containers that request a share are refused there"};
    }
    if (enforcing.empty()) {
        return {Status::ok,
                "they are not enforced: the guard is off (guard.enabled of the Helm chart, "
                "docs/limits.md)",
                ""};
    }
    if (others.any()) {
        return {Status::warning,
                "the guard enforces shares on other nodes, and not on " + others.text(),
                fmt::format("do all agents have the same version and arguments? kubectl -n {} get "
                            "pods -l app.kubernetes.io/component=agent -o yaml (--guard-library)",
                            facts.ns)};
    }
    Faults free;
    int enforced = 0;
    for (const Pod& pod : *facts.pods) {
        const Allocation* own = own_allocation(pod.info);
        if (pod.info.finished || own == nullptr) continue;
        if (std::ranges::none_of(own->containers, has_share)) continue;
        if (pod.info.is_guarded) {
            ++enforced;
        } else {
            free.add(fmt::format("{} on {}", pod.info.name.str(), pod.info.node.str()));
        }
    }
    if (free.any()) {
        return {Status::warning,
                "placed before the guard was deployed, so not enforced: " + free.text(),
                "create these pods again when it suits their users"};
    }
    if (!facts.reports) return unread(facts.reports.error());
    if (auto judged = judge_reports(*facts.reports, *facts.pods)) return *std::move(judged);
    return {Status::ok,
            fmt::format("the guard is on {} nodes and enforces the shares of {} pods",
                        enforcing.size(), enforced),
            ""};
}

}  // namespace tessera::doctor
