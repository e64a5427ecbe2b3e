#include "wire/tessera/node_configs_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <ranges>

#include "base/label_value.hpp"
#include "wire/text/json.hpp"

namespace tessera {
namespace {

constexpr auto kKeys = std::to_array<std::string_view>(
    {"cdi_kind", "context_mib", "environment_handlers", "excluded_gpus", "slots_per_gpu"});

tl::unexpected<Error> bad(std::string_view where, std::string_view why) {
    return fail(Code::invalid_argument, fmt::format("node_configs: {}: {}", where, why));
}

std::optional<std::string> scalar(JsonValue json) {
    if (const auto number = json.integer()) return std::to_string(*number);
    if (const auto text = json.text()) return std::string(*text);
    return std::nullopt;
}

std::optional<std::string> value_of(JsonValue json) {
    if (!json.is_array()) return scalar(json);
    std::string out;
    for (const JsonValue element : json.elements()) {
        const auto entry = scalar(element);
        if (!entry || entry->find(',') != std::string::npos) return std::nullopt;
        out += (out.empty() ? "" : ",") + *entry;
    }
    return out;
}

Result<StringMap> read_one(std::string_view name, JsonValue json) {
    if (!json.is_object()) return bad(name, "is not an object of keys and values");
    StringMap out;
    for (const auto& [key, value] : json.members()) {
        const std::string where = fmt::format("{}: {}", name, key.substr(0, 64));
        if (std::ranges::find(kKeys, key) == kKeys.end())
            return bad(where, fmt::format("unknown key; there are {}", node_config_keys()));
        auto text = value_of(value);
        if (!text) return bad(where, "is not a text, a whole number or a list of them");
        if (!out.emplace(key, *std::move(text)).second) return bad(where, "appears twice");
    }
    return out;
}

}  // namespace

std::string node_config_keys() {
    return fmt::format("{}", fmt::join(kKeys, ", "));
}

Result<NodeConfigs> read_node_configs(std::string_view json) {
    if (json.empty()) return NodeConfigs{};
    const auto document = JsonDocument::parse(json);
    if (!document) return fail(document.error().in("node_configs"));
    if (!document->root().is_object()) {
        return fail(Code::invalid_argument,
                    "node_configs: is not an object of names and configurations");
    }
    NodeConfigs out;
    for (const auto& [name, value] : document->root().members()) {
        if (!is_label_value(name)) {
            return fail(Code::invalid_argument,
                        fmt::format("node_configs: the name \"{}\" is not the value of a label; "
                                    "use at most 63 of a-z, A-Z, 0-9, - _ and .",
                                    name.substr(0, 80)));
        }
        TRY(auto one, read_one(name, value));
        if (!out.emplace(name, std::move(one)).second) return bad(name, "appears twice");
    }
    return out;
}

std::set<std::string> names_of(const NodeConfigs& configs) {
    const auto names = std::views::keys(configs);
    return {names.begin(), names.end()};
}

}  // namespace tessera
