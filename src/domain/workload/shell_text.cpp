#include "domain/workload/shell_text.hpp"

#include <algorithm>

#include "base/ascii.hpp"

namespace tessera::workload {
namespace {

bool is_plain(char c) {
    return is_alnum(c) || std::string_view("-_./:=,+@%").find(c) != std::string_view::npos;
}

}  // namespace

std::string shell_quoted(std::string_view text) {
    if (!text.empty() && std::ranges::all_of(text, is_plain)) return std::string(text);
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'') {
            out += R"('\'')";
        } else {
            out += c;
        }
    }
    return out + "'";
}

std::string unexpanded(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '$') out += '$';
        out += c;
    }
    return out;
}

}  // namespace tessera::workload
