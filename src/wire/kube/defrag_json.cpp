#include "wire/kube/defrag_json.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "wire/kube/host_resources.hpp"
#include "wire/kube/kube_objects.hpp"

namespace tessera {
namespace {

using defrag::LabelTerm;
using defrag::LabelTerms;

constexpr std::array<std::pair<std::string_view, LabelTerm::Kind>, 6> kOperators = {{
    {"In", LabelTerm::Kind::in},
    {"NotIn", LabelTerm::Kind::not_in},
    {"Exists", LabelTerm::Kind::exists},
    {"DoesNotExist", LabelTerm::Kind::absent},
    {"Gt", LabelTerm::Kind::greater},
    {"Lt", LabelTerm::Kind::less},
}};

std::optional<std::string> word(JsonValue value) {
    const auto text = value.text();
    return text ? std::optional(std::string(*text)) : std::nullopt;
}

std::optional<LabelTerm> read_expression(JsonValue json) {
    const auto key = word(json["key"]);
    const auto name = word(json["operator"]);
    const auto* kind =
        std::ranges::find(kOperators, name.value_or(""), [](const auto& row) { return row.first; });
    if (!key || kind == kOperators.end()) return std::nullopt;
    LabelTerm term{kind->second, *key, {}};
    for (const JsonValue value : json["values"].elements()) {
        auto text = word(value);
        if (!text) return std::nullopt;
        term.values.push_back(*std::move(text));
    }
    return term;
}

// A map of labels, and a list of expressions.
std::optional<LabelTerms> read_terms(JsonValue labels, JsonValue expressions) {
    LabelTerms out;
    for (const auto& [key, value] : labels.members()) {
        auto text = word(value);
        if (!text) return std::nullopt;
        out.push_back({LabelTerm::Kind::in, std::string(key), {*std::move(text)}});
    }
    for (const JsonValue expression : expressions.elements()) {
        auto term = read_expression(expression);
        if (!term) return std::nullopt;
        out.push_back(*std::move(term));
    }
    return out;
}

std::optional<LabelTerms> read_selector(JsonValue json) {
    if (!json.is_object()) return std::nullopt;
    return read_terms(json["matchLabels"], json["matchExpressions"]);
}

// One of nodeSelectorTerms. A term that cannot be read becomes an empty one, which no node matches.
LabelTerms read_node_term(JsonValue json) {
    auto fields = read_terms({}, json["matchFields"]);
    auto terms = read_terms({}, json["matchExpressions"]);
    if (!fields || !terms) return {};
    for (LabelTerm& field : *fields) {
        field.key = "field:" + field.key;
        terms->push_back(std::move(field));
    }
    return *std::move(terms);
}

}  // namespace

defrag::NodeRules read_node_rules(JsonValue spec) {
    defrag::NodeRules rules;
    if (auto selector = read_terms(spec["nodeSelector"], {})) {
        rules.selector = *std::move(selector);
    } else {
        rules.has_affinity = true;
    }
    const JsonValue required =
        spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    if (!rules.has_affinity && required.present()) {
        rules.has_affinity = true;
        for (const JsonValue term : required["nodeSelectorTerms"].elements())
            rules.affinity.push_back(read_node_term(term));
    }
    for (const JsonValue json : spec["tolerations"].elements()) {
        rules.tolerations.push_back({.key = json["key"].text_or(""),
                                     .exists = json["operator"].text_or("") == "Exists",
                                     .value = json["value"].text_or(""),
                                     .effect = json["effect"].text_or("")});
    }
    return rules;
}

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
    return word(job["metadata"]["uid"]);
}

defrag::NodeTraits read_node_traits(JsonValue node) {
    const JsonValue metadata = node["metadata"];
    const JsonValue spec = node["spec"];
    defrag::NodeTraits traits{.name = NodeName(metadata["name"].text_or("")),
                              .labels = {},
                              .taints = {},
                              .closed = spec["unschedulable"].is_true()};
    for (const auto& [key, value] : metadata["labels"].members())
        traits.labels.emplace(key, value.text_or(""));
    traits.labels.insert_or_assign(std::string(defrag::kNameField), traits.name.str());
    for (const JsonValue taint : spec["taints"].elements()) {
        traits.taints.push_back(
            {taint["key"].text_or(""), taint["value"].text_or(""), taint["effect"].text_or("")});
    }
    return traits;
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
