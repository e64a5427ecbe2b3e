#include "base/dns_name.hpp"

#include <algorithm>

namespace tessera {
namespace {

constexpr std::size_t kLongestLabel = 63;
constexpr std::size_t kLongestName = 253;

bool is_part(std::string_view text) {
    const auto is_alphanumeric = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    };
    return !text.empty() && is_alphanumeric(text.front()) && is_alphanumeric(text.back()) &&
           std::ranges::all_of(text, [&](char c) { return is_alphanumeric(c) || c == '-'; });
}

}  // namespace

bool is_dns_label(std::string_view text) {
    return text.size() <= kLongestLabel && is_part(text);
}

bool is_dns_name(std::string_view text) {
    if (text.size() > kLongestName) return false;
    for (std::size_t dot = 0; (dot = text.find('.')) != std::string_view::npos;) {
        if (!is_part(text.substr(0, dot))) return false;
        text.remove_prefix(dot + 1);
    }
    return is_part(text);
}

}  // namespace tessera
