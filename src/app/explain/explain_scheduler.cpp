#include "app/explain/explain_scheduler.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "domain/request/foreign_resources.hpp"

namespace tessera {
namespace {

std::string foreign_fault(const std::set<std::string>& resources) {
    return fmt::format(
        "it also requests {} ({}), so it needs a node that offers both; remove {}, because a pod "
        "requests GPUs of one product",
        fmt::join(resources, ", "), product_of_resource(*resources.begin()),
        resources.size() == 1 ? "it" : "them");
}

// Pods that gpushare's scheduler placed keep their GPUs when Tessera takes over.
bool is_placed(const PodInfo& pod) {
    return own_allocation(pod) != nullptr || (pod.legacy && !pod.node.empty());
}

bool calls_tessera(const defrag::ClusterObjects& objects, std::string_view scheduler) {
    return std::ranges::any_of(objects.pods, [&](const PodInfo& pod) {
        const auto at = objects.scheduling.find(pod.uid);
        return at != objects.scheduling.end() && at->second.scheduler == scheduler &&
               own_allocation(pod) != nullptr;
    });
}

}  // namespace

SchedulerExplanation explain_scheduler(const defrag::ClusterObjects& objects, const PodName& name,
                                       std::string_view own_scheduler) {
    SchedulerExplanation out;
    const auto pod = std::ranges::find(objects.pods, name, &PodInfo::name);
    if (pod == objects.pods.end()) return out;
    const auto at = objects.scheduling.find(pod->uid);
    if (at == objects.scheduling.end()) return out;
    const defrag::PodScheduling& it = at->second;
    if (!it.foreign_requests.empty()) out.faults.push_back(foreign_fault(it.foreign_requests));
    if (it.scheduler.empty() || is_placed(*pod)) return out;
    if (!own_scheduler.empty() && it.scheduler != own_scheduler) {
        out.faults.push_back(fmt::format(
            "spec.schedulerName is {}, and only {} calls Tessera in this cluster; create the pod "
            "again with schedulerName: {}",
            it.scheduler, own_scheduler, own_scheduler));
        return out;
    }
    if (own_scheduler.empty() && !calls_tessera(objects, it.scheduler)) {
        out.caveat = fmt::format(
            "Whether its scheduler, {}, calls Tessera is not known: no pod of that scheduler has "
            "GPUs from Tessera now (docs/install/extender-mode.md).",
            it.scheduler);
    }
    if (!it.is_reported) {
        out.caveat += fmt::format("{}No scheduler has reported on it yet: check that {} runs.",
                                  out.caveat.empty() ? "" : " ", it.scheduler);
    }
    return out;
}

}  // namespace tessera
