#include "wire/text/json_patch.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tessera {
namespace {

using Replacement = std::pair<std::string_view, std::string_view>;

// What Go's encoding/json escapes, and JSON need not. Source: its function HTMLEscape.
constexpr auto kServersEscapes = std::to_array<Replacement>({{"<", "\\u003c"},
                                                             {">", "\\u003e"},
                                                             {"&", "\\u0026"},
                                                             {"\xe2\x80\xa8", "\\u2028"},
                                                             {"\xe2\x80\xa9", "\\u2029"}});
// Source: RFC 6901.
constexpr auto kPointerEscapes = std::to_array<Replacement>({{"~", "~0"}, {"/", "~1"}});

std::string replaced(std::string_view text, const auto& table) {
    std::string out;
    while (!text.empty()) {
        const auto row = std::ranges::find_if(
            table, [&](const Replacement& one) { return text.starts_with(one.first); });
        const bool is_plain = row == table.end();
        out += is_plain ? text.substr(0, 1) : row->second;
        text.remove_prefix(is_plain ? 1 : row->first.size());
    }
    return out;
}

}  // namespace

std::string pointer_part(std::string_view key) {
    return replaced(key, kPointerEscapes);
}

std::string server_json_string(std::string_view text) {
    return replaced(json_string(text), kServersEscapes);
}

}  // namespace tessera
