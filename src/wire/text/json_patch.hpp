// JSON patches (RFC 6902): operations of which a server does all or none.
#pragma once

#include <string>
#include <string_view>

#include "wire/text/json.hpp"

namespace tessera {

// A key as a part of a path (RFC 6901).
std::string pointer_part(std::string_view key);

// A text as the API server writes it. It compares the texts of a test byte by byte, with Go's
// escapes: one that has a "<" would never be equal to "\u003c", which is the same text.
std::string server_json_string(std::string_view text);

// The operations are done in the order of the calls.
class JsonPatch {
  public:
    // The patch fails if there is another value, or none.
    void test(std::string_view path, std::string_view value) {
        test_raw(path, server_json_string(value));
    }
    // The same; `json` is already JSON text, as the API server writes it.
    void test_raw(std::string_view path, std::string_view json) {
        writer_.object([&] {
            head("test", path);
            writer_.raw_member("value", json);
        });
    }
    // The patch fails if there is a value. The API server takes a member that is missing for null.
    void test_missing(std::string_view path) { test_raw(path, "null"); }
    void add(std::string_view path, std::string_view value) {
        writer_.object([&] {
            head("add", path);
            writer_.member("value", value);
        });
    }
    // `json` is already JSON text.
    void add_raw(std::string_view path, std::string_view json) {
        writer_.object([&] {
            head("add", path);
            writer_.raw_member("value", json);
        });
    }
    void remove(std::string_view path) {
        writer_.object([&] { head("remove", path); });
    }

    // The text of the patch. Do not use it afterwards.
    [[nodiscard]] std::string take() { return "[" + writer_.take() + "]"; }

  private:
    void head(std::string_view operation, std::string_view path) {
        writer_.member("op", operation);
        writer_.member("path", path);
    }

    JsonWriter writer_;
};

}  // namespace tessera
