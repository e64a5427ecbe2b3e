#include "wire/text/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tessera {

JsonValue JsonValue::operator[](std::string_view key) const {
    simdjson::dom::element found;
    if (!is_object() || element_->get_object().at_key(key).get(found) != simdjson::SUCCESS)
        return {};
    return JsonValue(found);
}

JsonValue JsonValue::any_case(std::string_view key) const {
    simdjson::dom::element found;
    if (!is_object()) return {};
    if (element_->get_object().at_key_case_insensitive(key).get(found) != simdjson::SUCCESS)
        return {};
    return JsonValue(found);
}

std::optional<std::string_view> JsonValue::text() const {
    std::string_view value;
    if (!element_ || element_->get_string().get(value) != simdjson::SUCCESS) return std::nullopt;
    return value;
}

std::optional<std::int64_t> JsonValue::integer() const {
    std::int64_t value = 0;
    if (!element_ || element_->get_int64().get(value) != simdjson::SUCCESS) return std::nullopt;
    return value;
}

std::optional<bool> JsonValue::boolean() const {
    bool value = false;
    if (!element_ || element_->get_bool().get(value) != simdjson::SUCCESS) return std::nullopt;
    return value;
}

std::string JsonValue::text_or(std::string_view fallback) const {
    return std::string(text().value_or(fallback));
}

bool JsonValue::is_true() const {
    return boolean().value_or(false);
}

std::vector<JsonValue> JsonValue::elements() const {
    std::vector<JsonValue> out;
    if (!is_array()) return out;
    for (const simdjson::dom::element element : element_->get_array())
        out.emplace_back(element);
    return out;
}

std::vector<std::pair<std::string_view, JsonValue>> JsonValue::members() const {
    std::vector<std::pair<std::string_view, JsonValue>> out;
    if (!is_object()) return out;
    for (const simdjson::dom::key_value_pair pair : element_->get_object()) {
        out.emplace_back(pair.key, JsonValue(pair.value));
    }
    return out;
}

Result<JsonDocument> JsonDocument::parse(std::string_view text) {
    // The parser copies from the text's address, which may be null.
    if (text.empty()) return fail(Code::invalid_argument, "not JSON: the text is empty");
    JsonDocument document;
    document.parser_ = std::make_unique<simdjson::dom::parser>();
    if (document.parser_->allocate(std::max<std::size_t>(text.size(), 64), kMaxJsonDepth) !=
        simdjson::SUCCESS) {
        return fail(Code::unavailable, "no memory for the JSON text");
    }
    simdjson::dom::element root;
    if (const auto error = document.parser_->parse(text.data(), text.size()).get(root)) {
        return fail(Code::invalid_argument,
                    fmt::format("not JSON: {}", simdjson::error_message(error)));
    }
    document.root_ = JsonValue(root);
    return document;
}

namespace {

void append_escaped(std::string& out, char c) {
    switch (c) {
        case '"':
            out += "\\\"";
            return;
        case '\\':
            out += "\\\\";
            return;
        case '\n':
            out += "\\n";
            return;
        case '\t':
            out += "\\t";
            return;
        case '\r':
            out += "\\r";
            return;
        case '\b':
            out += "\\b";
            return;
        case '\f':
            out += "\\f";
            return;
        default:
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    }
}

bool must_escape(char c) {
    return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
}

// Whether some byte needs an escape, eight bytes at a time (extender_bench: a refusal has a reason
// for each node). Never false if one does; a byte after such a byte may be a false positive.
bool may_need_escape(std::string_view text) {
    constexpr std::uint64_t kOnes = 0x0101'0101'0101'0101;
    constexpr std::uint64_t kHigh = kOnes << 7;
    const auto below = [](std::uint64_t word, std::uint64_t limit) {
        return (word - kOnes * limit) & ~word & kHigh;
    };
    while (text.size() >= sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, text.data(), sizeof word);
        const std::uint64_t found =
            below(word, 0x20) | below(word ^ (kOnes * '"'), 1) | below(word ^ (kOnes * '\\'), 1);
        if (found != 0) return true;
        text.remove_prefix(sizeof word);
    }
    return std::ranges::any_of(text, must_escape);
}

}  // namespace

bool is_utf8(std::string_view text) {
    return simdjson::validate_utf8(text.data(), text.size());
}

void append_json_string(std::string& out, std::string_view text) {
    out += '"';
    if (!may_need_escape(text)) {
        out += text;
        out += '"';
        return;
    }
    while (!text.empty()) {
        const auto plain =
            static_cast<std::size_t>(std::ranges::find_if(text, must_escape) - text.begin());
        out += text.substr(0, plain);
        if (plain == text.size()) break;
        append_escaped(out, text[plain]);
        text.remove_prefix(plain + 1);
    }
    out += '"';
}

std::string json_string(std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
}

}  // namespace tessera
