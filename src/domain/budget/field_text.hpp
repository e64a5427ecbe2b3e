// What the parsers of budget fields share.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/result.hpp"

namespace tessera {

// invalid_argument that quotes the start of the text. `why` says what to write instead.
inline tl::unexpected<Error> refuse_text(std::string_view text, std::string_view why) {
    return fail(Code::invalid_argument, fmt::format("\"{}\" {}", text.substr(0, 64), why));
}

// A row of a table of enumeration names.
template <class T>
struct NamedValue {
    T value;
    std::string_view name;
};

// Empty for a value that is not in the table.
template <class T, std::size_t N>
std::string_view name_of(const std::array<NamedValue<T>, N>& table, T value) {
    const auto row = std::ranges::find(table, value, &NamedValue<T>::value);
    return row == table.end() ? std::string_view() : row->name;
}

// `names`: those of the table in words, for the error.
template <class T, std::size_t N>
Result<T> value_named(const std::array<NamedValue<T>, N>& table, std::string_view text,
                      std::string_view names) {
    const auto row = std::ranges::find(table, text, &NamedValue<T>::name);
    if (row != table.end()) return row->value;
    return refuse_text(text, fmt::format("is unknown; write {}", names));
}

}  // namespace tessera
