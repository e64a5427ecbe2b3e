// Reading and writing JSON text. Only this file, json.cpp and extender_json.cpp use the parser,
// simdjson. No text makes a function throw.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace tessera {

// JSON that is nested deeper is refused: no Kubernetes object comes near this depth, and recursion
// must be bounded.
inline constexpr std::size_t kMaxJsonDepth = 64;

// A value inside a JsonDocument; valid as long as the document. A missing member and a member of
// anything but an object are absent values, so chains need no checks:
// doc.root()["status"]["capacity"].
class JsonValue {
  public:
    JsonValue() = default;
    explicit JsonValue(simdjson::dom::element element) : element_(element) {}

    // False for null, too.
    [[nodiscard]] bool present() const { return element_ && !element_->is_null(); }
    [[nodiscard]] bool is_object() const { return element_ && element_->is_object(); }
    [[nodiscard]] bool is_array() const { return element_ && element_->is_array(); }

    JsonValue operator[](std::string_view key) const;
    // Like operator[], but ignores the case of ASCII letters, as Go's encoding/json does. The first
    // in document order.
    [[nodiscard]] JsonValue any_case(std::string_view key) const;

    // Nothing if the value is absent or of another type; integer(): also if it has a fraction or an
    // exponent, or does not fit.
    [[nodiscard]] std::optional<std::string_view> text() const;
    [[nodiscard]] std::optional<std::int64_t> integer() const;
    [[nodiscard]] std::optional<bool> boolean() const;
    [[nodiscard]] std::string text_or(std::string_view fallback) const;
    // Whether it is JSON's true.
    [[nodiscard]] bool is_true() const;

    // Empty for anything but an array.
    [[nodiscard]] std::vector<JsonValue> elements() const;
    // In document order; empty for anything but an object.
    [[nodiscard]] std::vector<std::pair<std::string_view, JsonValue>> members() const;

  private:
    std::optional<simdjson::dom::element> element_;
};

class JsonDocument {
  public:
    // Copies `text`. invalid_argument with the parser's reason; unavailable if there is no memory.
    static Result<JsonDocument> parse(std::string_view text);

    [[nodiscard]] JsonValue root() const { return root_; }

  private:
    JsonDocument() = default;

    std::unique_ptr<simdjson::dom::parser> parser_;
    JsonValue root_;
};

// Whether the text can be a JSON string.
bool is_utf8(std::string_view text);

// Appends `text` as a JSON string with quotes; control characters are escaped. `text` must be
// UTF-8, which is not checked; the parser accepts nothing else.
void append_json_string(std::string& out, std::string_view text);
std::string json_string(std::string_view text);

// Writes JSON text directly, without a tree in between, and puts the commas. There is no white
// space between tokens.
//
//     JsonWriter w;
//     w.object([&] { w.member("name", "n1"); w.array("gpus", [&] { w.item(std::int64_t{3}); }); });
class JsonWriter {
  public:
    void member(std::string_view key, std::string_view value) { head(key), quote(value); }
    void member(std::string_view key, const char* value) { member(key, std::string_view(value)); }
    void member(std::string_view key, std::int64_t value) {
        head(key), out_ += std::to_string(value);
    }
    void member(std::string_view key, int value) { member(key, std::int64_t{value}); }
    void member(std::string_view key, bool value) { head(key), out_ += value ? "true" : "false"; }
    // `json` is already JSON text.
    void raw_member(std::string_view key, std::string_view json) { head(key), out_ += json; }
    void item(std::string_view value) { comma(), quote(value); }
    void item(std::int64_t value) { comma(), out_ += std::to_string(value); }

    template <class Body>
    void object(Body body) {
        comma();
        nest('{', '}', body);
    }
    template <class Body>
    void object(std::string_view key, Body body) {
        head(key);
        nest('{', '}', body);
    }
    template <class Body>
    void array(Body body) {
        comma();
        nest('[', ']', body);
    }
    template <class Body>
    void array(std::string_view key, Body body) {
        head(key);
        nest('[', ']', body);
    }

    // The whole text. Do not use the writer afterwards.
    [[nodiscard]] std::string take() { return std::move(out_); }

  private:
    void comma() {
        if (!first_) out_ += ',';
        first_ = false;
    }
    void quote(std::string_view text) { append_json_string(out_, text); }
    void head(std::string_view key) {
        comma();
        quote(key);
        out_ += ':';
    }
    template <class Body>
    void nest(char open, char close, Body& body) {
        out_ += open;
        first_ = true;
        body();
        out_ += close;
        first_ = false;
    }

    std::string out_;
    bool first_ = true;
};

}  // namespace tessera
