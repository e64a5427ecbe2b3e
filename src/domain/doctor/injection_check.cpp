#include "domain/doctor/injection_check.hpp"

#include <fmt/format.h>

#include <map>
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

}  // namespace

Judgement injection(const Facts& facts) {
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
                "agent's --environment-handlers; add default there if the node's default runtime "
                "injects them)"};
    }
    if (runtimes.empty()) return {Status::ok, "no node has published its GPUs yet", ""};
    if (without.empty()) return {Status::ok, count_of(runtimes), ""};
    return {Status::ok,
            fmt::format("{}; {} node{} without CDI devices, where pods name a runtimeClassName",
                        count_of(runtimes), without.size(), without.size() == 1 ? "" : "s"),
            ""};
}

}  // namespace tessera::doctor
