#include "wire/kube/doctor_json.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "domain/cluster/node_labels.hpp"
#include "domain/dialect/native.hpp"
#include "domain/placement/engine/policy.hpp"
#include "domain/request/foreign_resources.hpp"
#include "wire/kube/host_resources.hpp"
#include "wire/kube/kube_objects.hpp"
#include "wire/kube/node_rules_json.hpp"
#include "wire/tessera/keys.hpp"
#include "wire/tessera/node_configs_json.hpp"
#include "wire/tessera/node_gpus_json.hpp"

namespace tessera {
namespace {

bool has_condition(JsonValue object, std::string_view type) {
    return std::ranges::any_of(object["status"]["conditions"].elements(), [&](JsonValue condition) {
        return condition["type"].text_or("") == type && condition["status"].text_or("") == "True";
    });
}

int number(JsonValue value) {
    return static_cast<int>(value.integer().value_or(0));
}

std::int64_t amount(JsonValue amounts, std::string_view resource) {
    const auto value = parse_whole_quantity(amounts[resource].text_or("0"));
    return value ? *value : 0;
}

std::vector<std::string> words_of(JsonValue container) {
    std::vector<std::string> out;
    for (const char* list : {"command", "args"}) {
        for (const JsonValue word : container[list].elements())
            out.push_back(word.text_or(""));
    }
    return out;
}

Result<std::set<std::string>> names_in(const std::string& node_configs) {
    TRY(const NodeConfigs configs, read_node_configs(node_configs));
    return names_of(configs);
}

}  // namespace

doctor::Node read_doctor_node(JsonValue json, JsonValue agent) {
    doctor::Node node{.inventory = read_node(json)};
    node.has_report = json["metadata"]["annotations"][key::kGpus].present();
    node.runtime = json["status"]["nodeInfo"]["containerRuntimeVersion"].text_or("");
    if (const auto report = json["metadata"]["annotations"][key::kGpus].text()) {
        const auto gpus = read_node_gpus(*report);
        if (gpus) node.identity = gpus->identity;
    }
    node.wants_agent = agent.present() && selects(read_node_rules(agent), *node.inventory.traits);
    node.agent_config = json["metadata"]["labels"][kAgentConfigLabel].text_or("");
    for (const auto& [name, value] : json["metadata"]["labels"].members())
        node.labels.emplace(name, value.text_or(""));
    for (const JsonValue taint : json["spec"]["taints"].elements())
        node.taints.insert(taint["key"].text_or(""));
    node.slots = amount(json["status"]["allocatable"], resource::kGpuShare);
    for (const auto& [resource, quantity] : json["status"]["capacity"].members()) {
        const std::string name(resource);
        const std::int64_t count =
            is_foreign_gpu_resource(name) ? amount(json["status"]["capacity"], name) : 0;
        if (count > 0) node.foreign_amounts.emplace(name, count);
    }
    return node;
}

doctor::Pod read_doctor_pod(JsonValue json, const AllocationSeal* seal) {
    doctor::Pod pod{.info = read_pod(json, seal)};
    pod.scheduler = json["spec"]["schedulerName"].text_or("");
    pod.runtime_class = json["spec"]["runtimeClassName"].text_or("");
    pod.has_signature = json["metadata"]["annotations"][key::kAllocationMac].present();
    pod.programs = read_programs(json);
    pod.foreign_requests = read_foreign_requests(json);
    return pod;
}

std::vector<doctor::Program> read_programs(JsonValue pod) {
    std::vector<doctor::Program> out;
    for (const char* list : {"initContainers", "containers"}) {
        for (const JsonValue container : pod["spec"][list].elements()) {
            std::string command = container["name"].text_or("");
            for (const std::string& word : words_of(container))
                command += " " + word;
            out.push_back({container["image"].text_or(""), std::move(command)});
        }
    }
    return out;
}

std::vector<doctor::Claim> read_claim(JsonValue json) {
    std::vector<doctor::Claim> out;
    const JsonValue metadata = json["metadata"];
    for (const JsonValue device : json["status"]["allocation"]["devices"]["results"].elements()) {
        // A device with adminAccess, as for monitoring, stays free for others.
        if (device["adminAccess"].boolean().value_or(false)) continue;
        out.push_back({metadata["namespace"].text_or("") + "/" + metadata["name"].text_or(""),
                       device["driver"].text_or(""), device["pool"].text_or("")});
    }
    return out;
}

doctor::GpuOperator read_cluster_policy(JsonValue json) {
    const JsonValue spec = json["spec"];
    // What the Operator does not manage has no effect.
    const auto is_on = [](JsonValue part) { return part["enabled"].boolean().value_or(true); };
    doctor::GpuOperator out{
        .policy = json["metadata"]["name"].text_or(""),
        .has_nri_plugin =
            is_on(spec["cdi"]) && spec["cdi"]["nriPluginEnabled"].boolean().value_or(false)};
    if (!is_on(spec["toolkit"])) return out;
    for (const JsonValue variable : spec["toolkit"]["env"].elements()) {
        constexpr std::string_view kName = "ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED";
        out.refuses_environment |=
            variable["name"].text_or("") == kName && variable["value"].text_or("") == "false";
    }
    return out;
}

doctor::Workload read_workload(JsonValue json) {
    const JsonValue status = json["status"];
    const bool on_nodes = status["desiredNumberScheduled"].present();
    doctor::Workload out{
        .wanted = number(on_nodes ? status["desiredNumberScheduled"] : json["spec"]["replicas"]),
        .ready = number(status[on_nodes ? "numberReady" : "readyReplicas"])};
    if (on_nodes) {
        out.outdated = std::max(
            0, number(status["currentNumberScheduled"]) - number(status["updatedNumberScheduled"]));
    }
    if (!on_nodes) out.unavailable = number(status["unavailableReplicas"]);
    const JsonValue spec = json["spec"]["template"]["spec"];
    out.runtime_class = spec["runtimeClassName"].text_or("");
    const auto containers = spec["containers"].elements();
    if (containers.empty()) return out;
    out.image = containers.front()["image"].text_or("");
    out.is_privileged = containers.front()["securityContext"]["privileged"].is_true();
    for (const std::string& word : words_of(containers.front())) {
        constexpr std::string_view kConfigs = "--node-configs=";
        constexpr std::string_view kTaint = "--startup-taint=";
        constexpr std::string_view kNominate = "--nominate-for=";
        constexpr std::string_view kFrom = "--nominate-from=";
        constexpr std::string_view kClass = "--webhook-runtime-class=";
        out.signs |= word.starts_with("--allocation-key-file");
        if (word.starts_with("--custom-metrics=")) out.custom_metrics = word.ends_with("=true");
        if (word.starts_with(kNominate)) out.nominate_for = word.substr(kNominate.size());
        if (word.starts_with(kFrom)) {
            out.nominate_from =
                parse_whole_quantity(word.substr(kFrom.size())).value_or(out.nominate_from);
        }
        if (word.starts_with(kTaint)) out.startup_taint = word.substr(kTaint.size());
        if (word.starts_with(kClass)) out.tenants_runtime_class = word.substr(kClass.size());
        if (word.starts_with(kConfigs)) out.node_configs = names_in(word.substr(kConfigs.size()));
    }
    return out;
}

doctor::MetricsApi read_metrics_api(JsonValue json) {
    const JsonValue service = json["spec"]["service"];
    doctor::MetricsApi out{.name = json["metadata"]["name"].text_or(""),
                           .service = {},
                           .is_available = has_condition(json, "Available"),
                           .reason = {}};
    if (service.present()) {
        out.service =
            service["namespace"].text_or("") + "/" + std::string(service["name"].text_or(""));
    }
    for (const JsonValue condition : json["status"]["conditions"].elements()) {
        if (!out.is_available && condition["type"].text() == "Available")
            out.reason = condition["message"].text_or("");
    }
    return out;
}

bool is_ready_agent(JsonValue pod) {
    const JsonValue labels = pod["metadata"]["labels"];
    return labels["app.kubernetes.io/name"].text_or("") == "tessera" &&
           labels["app.kubernetes.io/component"].text_or("") == "agent" &&
           !pod["metadata"]["deletionTimestamp"].present() && has_condition(pod, "Ready");
}

std::vector<std::string> read_command(JsonValue pod) {
    const auto containers = pod["spec"]["containers"].elements();
    return containers.empty() ? std::vector<std::string>() : words_of(containers.front());
}

ControllerFlags read_controller_flags(JsonValue deployment) {
    std::string lease;
    std::string scheduler;
    ControllerFlags out{.policy = std::string(kBestFitInBytes), .scheduler = {}};
    const std::map<std::string_view, std::string*> flags = {
        {"--policy", &out.policy},
        {"--scheduler-lease", &lease},
        {"--webhook-scheduler", &scheduler},
    };
    std::string* next = nullptr;
    for (const std::string& word : read_command(deployment["spec"]["template"])) {
        if (next != nullptr) *std::exchange(next, nullptr) = word;
        const std::size_t end = word.find('=');
        const auto flag = flags.find(std::string_view(word).substr(0, end));
        if (flag == flags.end()) continue;
        if (end == std::string::npos) {
            next = flag->second;
        } else {
            *flag->second = word.substr(end + 1);
        }
    }
    // With the lease of a kube-scheduler in its own pod, the controller serves only that one.
    if (!lease.empty()) out.scheduler = scheduler;
    return out;
}

}  // namespace tessera
