#include "wire/text/url_query.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/ascii.hpp"

namespace tessera {
namespace {

std::optional<int> hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return std::nullopt;
}

// A part of a query, in which "+" stands for a space.
std::string decode_query(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool has_two = text[i] == '%' && i + 2 < text.size();
        const auto high = has_two ? hex_value(text[i + 1]) : std::nullopt;
        const auto low = has_two ? hex_value(text[i + 2]) : std::nullopt;
        if (high && low) {
            out += static_cast<char>(*high * 16 + *low);
            i += 2;
        } else {
            out += text[i] == '+' ? ' ' : text[i];
        }
    }
    return out;
}

}  // namespace

std::string encode_query(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (const char c : text) {
        if (is_alnum(c) || std::string_view("-._~").find(c) != std::string_view::npos) {
            out += c;
        } else {
            out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
        }
    }
    return out;
}

std::vector<std::pair<std::string, std::string>> query_parameters(std::string_view query) {
    std::vector<std::pair<std::string, std::string>> out;
    while (!query.empty()) {
        const std::string_view one = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(one.size() + 1, query.size()));
        if (one.empty()) continue;
        const std::size_t equals = std::min(one.find('='), one.size());
        const std::string_view value = one.substr(std::min(equals + 1, one.size()));
        out.emplace_back(decode_query(one.substr(0, equals)), decode_query(value));
    }
    return out;
}

}  // namespace tessera
