#include "wire/kube/node_rules_json.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/quantity.hpp"
#include "domain/dialect/dialect.hpp"

namespace tessera {
namespace {

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

// One of nodeSelectorTerms. A term that cannot be read becomes an empty one, which no node matches.
LabelTerms read_node_term(JsonValue json) {
    auto fields = read_label_terms({}, json["matchFields"]);
    auto terms = read_label_terms({}, json["matchExpressions"]);
    if (!fields || !terms) return {};
    for (LabelTerm& field : *fields) {
        field.key = "field:" + field.key;
        terms->push_back(std::move(field));
    }
    return *std::move(terms);
}

// A quantity, which is text, or a number if the YAML had no quotes. 0 if it is missing.
std::int64_t read_pod_limit(JsonValue amounts) {
    const JsonValue pods = amounts["pods"];
    const auto number = pods.integer();
    return number ? *number : parse_whole_quantity(pods.text_or("")).value_or(0);
}

}  // namespace

std::optional<LabelTerms> read_label_terms(JsonValue labels, JsonValue expressions) {
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

NodeRules read_node_rules(JsonValue spec) {
    NodeRules rules;
    if (auto selector = read_label_terms(spec["nodeSelector"], {})) {
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

bool has_preferences(JsonValue pod) {
    const JsonValue spec = pod["spec"];
    const JsonValue affinity = spec["affinity"];
    for (const std::string_view kind : {"nodeAffinity", "podAffinity", "podAntiAffinity"}) {
        const JsonValue rules = affinity[kind]["preferredDuringSchedulingIgnoredDuringExecution"];
        if (!rules.elements().empty()) return true;
    }
    return std::ranges::any_of(spec["topologySpreadConstraints"].elements(), [](JsonValue rule) {
        return rule["whenUnsatisfiable"].text_or("") == "ScheduleAnyway";
    });
}

// Whether kube-scheduler counts more for it than we do: ports of the node, local storage, huge
// pages, or devices of other plugins.
bool counts_more(JsonValue container) {
    const auto has_port = [](JsonValue port) { return port["hostPort"].integer().value_or(0) > 0; };
    if (std::ranges::any_of(container["ports"].elements(), has_port)) return true;
    const JsonValue resources = container["resources"];
    for (const char* list : {"requests", "limits"}) {
        for (const auto& [name, quantity] : resources[list].members()) {
            const bool is_known =
                name == "cpu" || name == "memory" || all_dialects().of_resource(name) != nullptr;
            if (!is_known) return true;
        }
    }
    return false;
}

SchedulingRules read_scheduling_rules(JsonValue pod) {
    const JsonValue spec = pod["spec"];
    const JsonValue affinity = spec["affinity"];
    const auto has_claim = [](JsonValue volume) {
        return volume["persistentVolumeClaim"].present() || volume["ephemeral"].present();
    };
    const bool has_others =
        affinity["podAffinity"].present() || affinity["podAntiAffinity"].present() ||
        spec["topologySpreadConstraints"].present() || spec["resourceClaims"].present() ||
        has_preferences(pod) || std::ranges::any_of(spec["volumes"].elements(), has_claim) ||
        std::ranges::any_of(spec["containers"].elements(), counts_more) ||
        std::ranges::any_of(spec["initContainers"].elements(), counts_more);
    return {.scheduler = spec["schedulerName"].text_or(""),
            .nodes = read_node_rules(spec),
            .has_others = has_others};
}

NodeTraits read_node_traits(JsonValue node) {
    const JsonValue metadata = node["metadata"];
    const JsonValue spec = node["spec"];
    NodeTraits traits{.name = NodeName(metadata["name"].text_or("")),
                      .labels = {},
                      .taints = {},
                      .closed = spec["unschedulable"].is_true(),
                      .most_pods = read_pod_limit(node["status"]["allocatable"])};
    for (const auto& [key, value] : metadata["labels"].members())
        traits.labels.emplace(key, value.text_or(""));
    traits.labels.insert_or_assign(std::string(kNameField), traits.name.str());
    for (const JsonValue taint : spec["taints"].elements()) {
        traits.taints.push_back(
            {taint["key"].text_or(""), taint["value"].text_or(""), taint["effect"].text_or("")});
    }
    return traits;
}

}  // namespace tessera
