#include "base/label_value.hpp"

#include <algorithm>

#include "base/ascii.hpp"

namespace tessera {
namespace {

constexpr std::size_t kLongest = 63;

constexpr bool is_inner(char c) {
    return is_alnum(c) || c == '-' || c == '_' || c == '.';
}

}  // namespace

bool is_label_value(std::string_view text) {
    return !text.empty() && text.size() <= kLongest && is_alnum(text.front()) &&
           is_alnum(text.back()) && std::ranges::all_of(text, is_inner);
}

std::string as_label_value(std::string_view text) {
    std::string value(text);
    std::ranges::replace_if(value, [](char c) { return !is_inner(c); }, '-');
    value.erase(value.begin(), std::ranges::find_if(value, is_alnum));
    value.resize(std::min(value.size(), kLongest));
    while (!value.empty() && !is_alnum(value.back()))
        value.pop_back();
    return value;
}

}  // namespace tessera
