#include "domain/doctor/injection_check.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <string>

#include "domain/container_start/runtime_support.hpp"

namespace tessera::doctor {
namespace {

struct Runtime {
    std::string name;
    std::string version;
};

// "containerd://2.3.7"
Runtime runtime_of(const Node& node) {
    const std::size_t at = node.runtime.find("://");
    if (at == std::string::npos) return {"a runtime without a name", node.runtime};
    return {node.runtime.substr(0, at), node.runtime.substr(at + 3)};
}

std::string count_of(const std::map<std::string, int>& runtimes) {
    std::string text;
    for (const auto& [runtime, nodes] : runtimes) {
        text += fmt::format("{}{} on {} node{}", text.empty() ? "" : ", ", runtime, nodes,
                            nodes == 1 ? "" : "s");
    }
    return text;
}

// Whether the GPU pods of these nodes get their GPUs from a runtime that reads
// NVIDIA_VISIBLE_DEVICES: each names a RuntimeClass, and a container of one was created.
bool go_by_runtime_class(const Facts& facts, const std::set<NodeName>& nodes) {
    if (!facts.pods) return false;
    bool is_proven = false;
    for (const Pod& pod : *facts.pods) {
        const bool counts = !pod.info.finished && asks_for_gpus(pod.info);
        if (!counts || !nodes.contains(pod.info.node)) continue;
        if (pod.runtime_class.empty()) return false;
        is_proven |= pod.info.started;
    }
    return is_proven;
}

// A RuntimeClass that Tessera's or its tenants' pods name, and that does not exist: the API server
// refuses these pods. Nothing if all exist, or if that is unknown.
std::optional<Judgement> missing_class(const Facts& facts) {
    constexpr const char* kFix =
        "install NVIDIA's container toolkit with the RuntimeClass, or leave the GPU Operator's "
        "cdi.nriPluginEnabled off, which removes it; if the nodes need none, set the chart's {} to "
        "an empty text";
    if (facts.agents && is_missing_class(facts, facts.agents->runtime_class)) {
        return Judgement{Status::failed,
                         fmt::format("there is no RuntimeClass {}, which the agents' pods name",
                                     facts.agents->runtime_class),
                         fmt::format(kFix, "agent.driver.runtimeClassName")};
    }
    if (facts.controller && is_missing_class(facts, facts.controller->tenants_runtime_class)) {
        return Judgement{Status::failed,
                         fmt::format("there is no RuntimeClass {}, which the webhook gives to pods "
                                     "that request GPUs",
                                     facts.controller->tenants_runtime_class),
                         fmt::format(kFix, "webhook.runtimeClassName")};
    }
    return std::nullopt;
}

bool needs_class(const Facts& facts) {
    return (facts.agents && !facts.agents->runtime_class.empty()) ||
           (facts.controller && !facts.controller->tenants_runtime_class.empty());
}

}  // namespace

bool is_missing_class(const Facts& facts, const std::string& name) {
    return !name.empty() && facts.runtime_classes && !facts.runtime_classes->contains(name);
}

Judgement injection(const Facts& facts) {
    if (auto missing = missing_class(facts)) return *std::move(missing);
    if (!facts.nodes) return unread(facts.nodes.error());
    Faults dropping;
    Faults without_device;
    std::set<NodeName> without;
    std::map<std::string, int> runtimes;
    for (const Node& node : *facts.nodes) {
        if (!node.has_report) continue;
        const Runtime runtime = runtime_of(node);
        const std::string& name = node.inventory.name.str();
        ++runtimes[fmt::format("{} {}", runtime.name, runtime.version)];
        const auto carried =
            node.identity == "nri" ? check_cdi_from_nri_of(node.runtime) : Result<>();
        if (!carried) dropping.add(fmt::format("{}: {}", name, carried.error().text));
        if (node.inventory.injection_fault.empty()) continue;
        without_device.add(fmt::format("{}: {}", name, node.inventory.injection_fault));
        without.insert(node.inventory.name);
    }
    if (dropping.any()) {
        return {Status::failed, dropping.text(),
                "until then, containers that request a GPU are refused there"};
    }
    if (without_device.any() && !go_by_runtime_class(facts, without)) {
        return {Status::warning, without_device.text(),
                "generate the specification (nvidia-ctk cdi generate), name its kind (the agent's "
                "--cdi-kind), or give the pods a runtimeClassName whose runtime injects GPUs (the "
                "chart's webhook.runtimeClassName, the agent's --environment-handlers; add default "
                "there if the node's default runtime injects them)"};
    }
    if (!facts.runtime_classes && needs_class(facts)) return unread(facts.runtime_classes.error());
    if (runtimes.empty()) return {Status::ok, "no node has published its GPUs yet", ""};
    if (without.empty()) return {Status::ok, count_of(runtimes), ""};
    return {Status::ok,
            fmt::format("{}; {} node{} without CDI devices, where pods name a runtimeClassName",
                        count_of(runtimes), without.size(), without.size() == 1 ? "" : "s"),
            ""};
}

}  // namespace tessera::doctor
