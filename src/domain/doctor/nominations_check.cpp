#include "domain/doctor/nominations_check.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::doctor {

Judgement nominations(const Facts& facts) {
    if (!facts.controller) return unread(facts.controller.error());
    const Workload& controller = *facts.controller;
    if (controller.nominate_for.empty())
        return {Status::ok, "off (controller.nominate of the Helm chart)", ""};
    if (!facts.nodes) return unread(facts.nodes.error());
    if (!facts.pods) return unread(facts.pods.error());
    const std::string whose = fmt::format("for {}", controller.nominate_for);
    const auto nodes = static_cast<std::int64_t>(facts.nodes->size());
    if (nodes < controller.nominate_from) {
        return {Status::ok,
                fmt::format("on {}, without effect: {} nodes, and it begins at {}", whose, nodes,
                            controller.nominate_from),
                ""};
    }
    Faults lost;
    std::int64_t count = 0;
    for (const Pod& pod : *facts.pods) {
        const PodInfo& info = pod.info;
        if (info.nominated.empty() || !info.node.empty() || info.finished) continue;
        ++count;
        const bool exists = std::ranges::any_of(
            *facts.nodes, [&](const Node& node) { return node.inventory.name == info.nominated; });
        if (!exists) lost.add(fmt::format("{} to {}", info.name.str(), info.nominated.str()));
    }
    if (lost.any()) {
        return {Status::warning, "nominated to a node that is gone: " + lost.text(),
                "does the controller have the right to patch pods/status? its log says api_error"};
    }
    return {Status::ok, fmt::format("on {}, {} of the waiting pods are nominated", whose, count),
            ""};
}

}  // namespace tessera::doctor
