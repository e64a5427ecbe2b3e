#include "wire/defrag_json.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "wire/kube_objects.hpp"

namespace tessera {
namespace {

using defrag::LabelTerm;

constexpr std::array<std::pair<std::string_view, LabelTerm::Kind>, 4> kOperators = {{
    {"In", LabelTerm::Kind::in},
    {"NotIn", LabelTerm::Kind::not_in},
    {"Exists", LabelTerm::Kind::exists},
    {"DoesNotExist", LabelTerm::Kind::absent},
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

std::optional<std::vector<LabelTerm>> read_selector(JsonValue json) {
    if (!json.is_object()) return std::nullopt;
    std::vector<LabelTerm> out;
    for (const auto& [key, value] : json["matchLabels"].members()) {
        auto text = word(value);
        if (!text) return std::nullopt;
        out.push_back({LabelTerm::Kind::in, std::string(key), {*std::move(text)}});
    }
    for (const JsonValue expression : json["matchExpressions"].elements()) {
        auto term = read_expression(expression);
        if (!term) return std::nullopt;
        out.push_back(*std::move(term));
    }
    return out;
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
        .allowed = metadata["annotations"][defrag::kMovable].text_or("") == "true",
        .mirror = metadata["annotations"]["kubernetes.io/config.mirror"].present(),
        .terminating = metadata["deletionTimestamp"].present(),
        .finished = phase == "Succeeded" || phase == "Failed",
    };
    for (const auto& [key, value] : metadata["labels"].members())
        state.labels.emplace(key, value.text_or(""));
    for (const JsonValue owner : metadata["ownerReferences"].elements()) {
        if (!owner["controller"].true_or_absent_false()) continue;
        state.owner = defrag::Owner{owner["kind"].text_or(""), owner["name"].text_or(""),
                                    owner["uid"].text_or("")};
        break;
    }
    return state;
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

bool is_closed(JsonValue node) {
    return node["spec"]["unschedulable"].true_or_absent_false();
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
