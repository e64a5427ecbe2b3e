// Reads a document field by field, so that an error says which field is wrong.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "wire/text/json.hpp"
#include "wire/text/utc_time.hpp"

namespace tessera {

// A row of a table of enumeration names.
template <class T>
struct JsonWord {
    std::string_view text;
    T value;
};

template <class T, std::size_t N>
std::string_view word_of(const std::array<JsonWord<T>, N>& words, T value) {
    return std::ranges::find(words, value, &JsonWord<T>::value)->text;
}

// A value and its path in the document. Errors are invalid_argument and begin with the path
// ("pods[3].requests[0].gpus"). null counts as missing.
class JsonField {
  public:
    JsonField(JsonValue json, std::string path) : json_(json), path_(std::move(path)) {}

    [[nodiscard]] JsonField operator[](std::string_view key) const {
        return {json_[key], path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key)};
    }
    // Of a document, in its field `version`: unsupported if it is newer than ours.
    [[nodiscard]] Result<> check_version(std::int64_t newest) const {
        TRY(const auto version,
            (*this)["version"].number(1, std::numeric_limits<std::int64_t>::max()));
        if (version <= newest) return {};
        return fail(Code::unsupported, fmt::format("version: {} is of a newer release", version));
    }
    [[nodiscard]] bool present() const { return json_.present(); }

    [[nodiscard]] tl::unexpected<Error> fault(std::string_view what) const {
        return fail(Code::invalid_argument, fmt::format("{}: {}", path_, what));
    }
    [[nodiscard]] Result<std::int64_t> number(std::int64_t least, std::int64_t most) const {
        if (!present()) return fault("missing");
        const auto value = json_.integer();
        if (!value || *value < least || *value > most)
            return fault(fmt::format("is not a whole number from {} to {}", least, most));
        return *value;
    }
    [[nodiscard]] Result<std::int64_t> number_or_0(std::int64_t most) const {
        if (!present()) return 0;
        return number(0, most);
    }
    [[nodiscard]] Result<std::string> text() const {
        if (!present()) return fault("missing");
        const auto value = json_.text();
        if (!value || value->empty()) return fault("is not a text, or is empty");
        return std::string(*value);
    }
    [[nodiscard]] Result<std::string> text_or_empty() const {
        if (!present()) return std::string();
        return text();
    }
    [[nodiscard]] Result<bool> yes_or_no() const {
        if (!present()) return false;
        const auto value = json_.boolean();
        if (!value) return fault("is neither true nor false");
        return *value;
    }
    [[nodiscard]] Result<> is_object() const {
        if (!json_.is_object()) return fault("is not an object");
        return {};
    }
    template <class T, std::size_t N>
    [[nodiscard]] Result<T> one_of(const std::array<JsonWord<T>, N>& words) const {
        TRY(const std::string name, text());
        const auto found = std::ranges::find(words, name, &JsonWord<T>::text);
        if (found == words.end()) return fault(fmt::format("{} is not known", json_string(name)));
        return found->value;
    }
    // A time as the API server writes it, which sorts as text.
    [[nodiscard]] Result<std::string> time() const {
        TRY(std::string value, text());
        if (!is_utc_time(value)) return fault("is not a time such as 2026-01-31T11:00:00Z");
        return value;
    }
    [[nodiscard]] Result<std::string> time_or_empty() const {
        if (!present()) return std::string();
        return time();
    }
    // Applies `read` to each element; a missing array is empty.
    template <class Read>
    [[nodiscard]] auto each_or_none(const Read& read) const
        -> Result<std::vector<typename decltype(read(std::declval<JsonField>()))::value_type>> {
        std::vector<typename decltype(read(std::declval<JsonField>()))::value_type> out;
        if (!present()) return out;
        if (!json_.is_array()) return fault("is not a list");
        for (const JsonValue element : json_.elements()) {
            TRY(auto one, read(JsonField(element, fmt::format("{}[{}]", path_, out.size()))));
            out.push_back(std::move(one));
        }
        return out;
    }
    template <class Read>
    [[nodiscard]] auto each(const Read& read) const -> decltype(each_or_none(read)) {
        if (!present()) return fault("missing");
        return each_or_none(read);
    }

  private:
    JsonValue json_;
    std::string path_;
};

}  // namespace tessera
