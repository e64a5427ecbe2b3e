#include "wire/workload/cluster_facts_json.hpp"

#include <algorithm>
#include <set>

#include "wire/workload/workload_pod_json.hpp"

namespace tessera {
namespace {

constexpr std::string_view kPluginGpu = "nvidia.com/gpu";
constexpr std::string_view kRolePrefix = "node-role.kubernetes.io/";

int amount_of(JsonValue amounts) {
    // A plugin that shares by time counts each GPU several times. A text such as "1k" is legal.
    constexpr std::int64_t kMost = 1 << 10;
    const auto amount = parse_whole_quantity(amounts[kPluginGpu].text_or("0"));
    return static_cast<int>(std::clamp<std::int64_t>(amount.value_or(0), 0, kMost));
}

std::string role_of(JsonValue node) {
    std::set<std::string> roles;
    for (const auto& [label, value] : node["metadata"]["labels"].members()) {
        if (label.starts_with(kRolePrefix)) roles.emplace(label.substr(kRolePrefix.size()));
    }
    std::string out;
    for (const std::string& role : roles)
        out += (out.empty() ? "" : ",") + role;
    return out;
}

// A node whose kubelet has never reported has no condition.
std::string status_of(JsonValue node) {
    std::string out = "Unknown";
    for (const JsonValue condition : node["status"]["conditions"].elements()) {
        if (condition["type"].text_or("") == "Ready")
            out = condition["status"].text_or("") == "True" ? "Ready" : "NotReady";
    }
    if (node["spec"]["unschedulable"].is_true()) out += ",SchedulingDisabled";
    return out;
}

}  // namespace

ShownNode read_shown_node(JsonValue node) {
    return {.role = role_of(node),
            .status = status_of(node),
            .plugin_gpus = amount_of(node["status"]["capacity"]),
            .healthy_plugin_gpus = amount_of(node["status"]["allocatable"])};
}

ShownPod read_shown_pod(JsonValue pod) {
    int sum = 0;
    int largest = 0;
    for (const JsonValue container : pod["spec"]["containers"].elements())
        sum += amount_of(container["resources"]["limits"]);
    for (const JsonValue container : pod["spec"]["initContainers"].elements())
        largest = std::max(largest, amount_of(container["resources"]["limits"]));
    return {.status = workload::read_pod_status(pod), .plugin_gpus = std::max(sum, largest)};
}

}  // namespace tessera
