#include "app/cli/screen_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace tessera {
namespace {

constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kClearLine = "\x1b[K";
constexpr std::string_view kClearBelow = "\x1b[J";

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        out.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

// The first characters of UTF-8 text. A character counts as one column.
std::string_view first_columns(std::string_view line, int columns) {
    if (columns <= 0) return line;
    int seen = 0;
    for (std::size_t at = 0; at < line.size(); ++at) {
        const bool is_start = (static_cast<unsigned char>(line[at]) & 0xC0U) != 0x80U;
        if (is_start && ++seen > columns) return line.substr(0, at);
    }
    return line;
}

}  // namespace

std::string screen_text(std::string_view text, int columns, int rows) {
    std::vector<std::string_view> lines = lines_of(text);
    std::string more;
    // The cursor stands below the last line.
    const auto most = static_cast<std::size_t>(std::max(rows - 1, 1));
    if (rows > 0 && lines.size() > most) {
        more = fmt::format("... {} more lines", lines.size() - most + 1);
        lines.resize(most - 1);
        lines.emplace_back(more);
    }
    std::string out(kHome);
    for (const std::string_view line : lines) {
        out += first_columns(line, columns);
        out += kClearLine;
        out += '\n';
    }
    out += kClearBelow;
    return out;
}

}  // namespace tessera
