#include "wire/kube/migration_json.hpp"

#include <algorithm>
#include <vector>

#include "base/quantity.hpp"
#include "domain/dialect/gpushare.hpp"
#include "domain/doctor/others_check.hpp"
#include "wire/kube/doctor_json.hpp"
#include "wire/kube/kube_objects.hpp"
#include "wire/kube/node_rules_json.hpp"
#include "wire/kube/published_node_json.hpp"
#include "wire/kube/text_patch.hpp"

namespace tessera {
namespace {

using migration::Role;

bool is_true(JsonValue labels, std::string_view key) {
    return labels[key].text_or("") == "true";
}

// A pod, or the template of pods. `image` and `component`: of gpushare's manifests
// (docs/research/gpushare.md, section 4.1).
bool is_of_gpushare(JsonValue pod, std::string_view image, std::string_view component) {
    if (pod["metadata"]["labels"]["component"].text_or("") == component) return true;
    return std::ranges::any_of(pod["spec"]["containers"].elements(), [&](JsonValue container) {
        return container["image"].text_or("").find(image) != std::string::npos;
    });
}
bool is_old_plugin(JsonValue pod) {
    return is_of_gpushare(pod, "gpushare-plugin", "gpushare-device-plugin");
}
bool is_old_extender(JsonValue pod) {
    return is_of_gpushare(pod, "gpushare-schd-extender", "gpushare-schd-extender");
}

bool is_ready(JsonValue pod) {
    if (pod["metadata"]["deletionTimestamp"].present()) return false;
    return std::ranges::any_of(pod["status"]["conditions"].elements(), [](JsonValue condition) {
        return condition["type"].text_or("") == "Ready" &&
               condition["status"].text_or("") == "True";
    });
}

// GiB unless the flag says MiB, as in gpushare's plugin. Its flags may have one dash.
MemoryUnit unit_of(const std::vector<std::string>& command) {
    std::string value;
    bool is_next = false;
    for (const std::string& word : command) {
        const std::string flag = word.substr(std::min(word.find_first_not_of('-'), word.size()));
        if (is_next) value = word;
        is_next = flag == "memory-unit";
        if (flag.starts_with("memory-unit=")) value = flag.substr(flag.find('=') + 1);
    }
    return value == unit_name(MemoryUnit::mib) ? MemoryUnit::mib : MemoryUnit::gib;
}

migration::DaemonSet read_daemon_set(JsonValue json) {
    const JsonValue metadata = json["metadata"];
    const JsonValue pods = json["spec"]["template"];
    return {.name = PodName{metadata["namespace"].text_or(""), metadata["name"].text_or("")}.str(),
            .unit = unit_of(read_command(pods)),
            .needs_old_label = is_true(pods["spec"]["nodeSelector"], migration::kOldLabel)};
}

}  // namespace

migration::Node read_migration_node(JsonValue json, JsonValue agent) {
    const JsonValue metadata = json["metadata"];
    const JsonValue annotations = metadata["annotations"];
    migration::Node node{.inventory = read_node(json)};
    node.version = metadata["resourceVersion"].text_or("");
    node.has_old_label = is_true(metadata["labels"], migration::kOldLabel);
    node.has_agent_label = is_true(metadata["labels"], migration::kAgentLabel);
    node.is_migrated = annotations[migration::kMigratedFrom].text_or("") == migration::kGpushare;
    node.is_cordoned = json["spec"]["unschedulable"].is_true();
    node.cordoned_by_us = annotations[migration::kCordonedBy].text_or("") == migration::kMigration;
    node.is_agent_wanted =
        agent.present() && selects(read_node_rules(agent), *node.inventory.traits);
    node.published = read_published_node(json);
    const auto units =
        parse_whole_quantity(json["status"]["allocatable"][resource::kAliyunMem].text_or("0"));
    node.units = units ? *units : 0;
    return node;
}

migration::Pod read_migration_pod(JsonValue json, std::string_view ns) {
    migration::Pod pod{.info = read_pod(json)};
    pod.scheduler = json["spec"]["schedulerName"].text_or("");
    pod.is_ready = is_ready(json);
    const JsonValue labels = json["metadata"]["labels"];
    const bool is_ours =
        pod.info.name.ns == ns && labels["app.kubernetes.io/name"].text_or("") == "tessera";
    const std::string component = labels["app.kubernetes.io/component"].text_or("");
    if (is_ours && component == "agent") {
        pod.role = Role::agent;
    } else if (is_ours && component == "controller") {
        pod.role = Role::controller;
    } else if (is_old_plugin(json)) {
        pod.role = Role::old_plugin;
    } else if (is_old_extender(json)) {
        pod.role = Role::old_extender;
    } else if (const char* what = doctor::other_gpu_program(read_programs(json))) {
        pod.role = Role::other_gpu_program;
        pod.what = what;
    }
    return pod;
}

migration::DaemonSet read_agents(JsonValue daemon_set) {
    return read_daemon_set(daemon_set);
}

std::optional<migration::DaemonSet> read_old_plugin(JsonValue daemon_set) {
    if (!is_old_plugin(daemon_set["spec"]["template"])) return std::nullopt;
    return read_daemon_set(daemon_set);
}

bool is_webhook_trusted(JsonValue configuration) {
    const auto webhooks = configuration["webhooks"].elements();
    return !webhooks.empty() && std::ranges::all_of(webhooks, [](JsonValue webhook) {
        return !webhook["clientConfig"]["caBundle"].text_or("").empty();
    });
}

bool has_own_scheduler(JsonValue deployment) {
    const auto containers = deployment["spec"]["template"]["spec"]["containers"].elements();
    return std::ranges::any_of(containers, [](JsonValue container) {
        return container["name"].text_or("") == "kube-scheduler";
    });
}

std::string write_node_change(std::string_view version, const migration::NodeChange& change) {
    JsonWriter w;
    w.object([&] {
        w.object("metadata", [&] {
            w.member("resourceVersion", version);
            if (!change.annotations.empty()) write_text_patch(w, "annotations", change.annotations);
            if (!change.labels.empty()) write_text_patch(w, "labels", change.labels);
        });
        if (change.is_cordoned)
            w.object("spec", [&] { w.member("unschedulable", *change.is_cordoned); });
    });
    return w.take();
}

}  // namespace tessera
