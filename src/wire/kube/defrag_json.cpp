#include "wire/kube/defrag_json.hpp"

#include <algorithm>
#include <utility>

#include "wire/kube/host_resources.hpp"
#include "wire/kube/kube_objects.hpp"
#include "wire/kube/node_rules_json.hpp"

namespace tessera {
namespace {

std::optional<LabelTerms> read_selector(JsonValue json) {
    if (!json.is_object()) return std::nullopt;
    return read_label_terms(json["matchLabels"], json["matchExpressions"]);
}

}  // namespace

defrag::PodState read_pod_state(JsonValue pod) {
    const JsonValue metadata = pod["metadata"];
    const std::string phase = pod["status"]["phase"].text_or("");
    defrag::PodState state{
        .uid = PodUid(metadata["uid"].text_or("")),
        .name = {metadata["namespace"].text_or("default"), metadata["name"].text_or("")},
        .node = NodeName(pod["spec"]["nodeName"].text_or("")),
        .labels = {},
        .owner = std::nullopt,
        .nodes = read_node_rules(pod["spec"]),
        .allowed = metadata["annotations"][defrag::kMovable].text_or("") == "true",
        .mirror = metadata["annotations"]["kubernetes.io/config.mirror"].present(),
        .terminating = metadata["deletionTimestamp"].present(),
        .finished = phase == "Succeeded" || phase == "Failed",
    };
    for (const auto& [key, value] : metadata["labels"].members())
        state.labels.emplace(key, value.text_or(""));
    for (const JsonValue owner : metadata["ownerReferences"].elements()) {
        if (!owner["controller"].is_true()) continue;
        state.owner = defrag::Owner{owner["kind"].text_or(""), owner["name"].text_or(""),
                                    owner["uid"].text_or("")};
        break;
    }
    return state;
}

defrag::PodScheduling read_pod_scheduling(JsonValue pod) {
    const auto is_of_scheduler = [](JsonValue condition) {
        return condition["type"].text_or("") == "PodScheduled";
    };
    return {
        .scheduler = pod["spec"]["schedulerName"].text_or(""),
        .is_reported = std::ranges::any_of(pod["status"]["conditions"].elements(), is_of_scheduler),
        .foreign_requests = read_foreign_requests(pod)};
}

defrag::Budget read_budget(JsonValue budget) {
    const JsonValue metadata = budget["metadata"];
    const JsonValue status = budget["status"];
    const auto seen = status["observedGeneration"].integer().value_or(0);
    const bool is_behind = seen < metadata["generation"].integer().value_or(0);
    return {.name = {metadata["namespace"].text_or("default"), metadata["name"].text_or("")},
            .selector = read_selector(budget["spec"]["selector"]),
            .allowed = is_behind ? 0 : status["disruptionsAllowed"].integer().value_or(0)};
}

std::optional<std::string> read_waiting_job(JsonValue job) {
    if (job["spec"]["podReplacementPolicy"].text_or("") != "Failed") return std::nullopt;
    const auto uid = job["metadata"]["uid"].text();
    return uid ? std::optional(std::string(*uid)) : std::nullopt;
}

std::string eviction_refusal(std::string_view body) {
    std::string out = status_message(body);
    const auto document = JsonDocument::parse(body);
    if (!document) return out;
    for (const JsonValue cause : document->root()["details"]["causes"].elements()) {
        if (const auto message = cause["message"].text()) out += " " + std::string(*message);
    }
    return out;
}

}  // namespace tessera
