#include "domain/doctor/mps_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "domain/request/gpu_rules.hpp"

namespace tessera::doctor {
namespace {

constexpr const char* kArchitectureLabel = "kubernetes.io/arch";

// MPS needs the guard, which other processors do not have.
bool may_offer(const Node& node) {
    const auto at = node.labels.find(kArchitectureLabel);
    return at == node.labels.end() || at->second == "amd64";
}

// GPUs that are out of use say nothing of MPS.
bool lacks_mps(const Node& node) {
    const auto& gpus = node.inventory.gpus;
    return node.agent_ready && may_offer(node) && std::ranges::any_of(gpus, &Gpu::usable) &&
           std::ranges::none_of(gpus, &Gpu::offers_mps);
}

Judgement off(const Facts& facts) {
    if (!facts.pods) return unread(facts.pods.error());
    Faults waiting;
    for (const Pod& pod : *facts.pods) {
        const PodInfo& info = pod.info;
        if (info.finished || !info.node.empty() || info.gpu_rules.isolation != "mps") continue;
        waiting.add(info.name.str());
    }
    if (!waiting.any()) return {Status::ok, "off (mps.enabled of the Helm chart)", ""};
    return {Status::warning, "it is off, and pods that wait request it: " + waiting.text(),
            fmt::format("set mps.enabled=true in the Helm chart, or create the pods without the "
                        "annotation {}",
                        kIsolation)};
}

}  // namespace

Judgement mps(const Facts& facts) {
    if (!facts.mps) {
        return facts.mps.error().code == Code::not_found ? off(facts) : unread(facts.mps.error());
    }
    if (!facts.nodes) return unread(facts.nodes.error());
    Faults lacking;
    bool is_offered = false;
    for (const Node& node : *facts.nodes) {
        if (lacks_mps(node)) lacking.add(node.inventory.name.str());
        is_offered |= std::ranges::any_of(node.inventory.gpus, &Gpu::offers_mps);
    }
    if (lacking.any()) {
        // Nodes with GPUs before Volta alone never offer it.
        return {is_offered ? Status::warning : Status::failed,
                "it is on, and these nodes do not offer it: " + lacking.text(),
                fmt::format("kubectl -n {0} logs -l app.kubernetes.io/component=mps --prefix "
                            "--tail=50 says why, unless the check shares names the node; if a node "
                            "has no such pod: kubectl -n {0} describe daemonset tessera-mps. GPUs "
                            "before Volta cannot offer it",
                            facts.ns)};
    }
    if (facts.mps->outdated > 0) {
        return {Status::warning,
                fmt::format("{} of the {} pods of tessera-mps are of the version before",
                            facts.mps->outdated, facts.mps->wanted),
                "replace them when no program with MPS runs on their nodes (docs/operations.md, "
                "Upgrade with MPS)"};
    }
    return {Status::ok, fmt::format("on, for {} nodes", facts.mps->wanted), ""};
}

}  // namespace tessera::doctor
