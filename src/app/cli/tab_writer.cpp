#include "app/cli/tab_writer.hpp"

#include <algorithm>
#include <vector>

namespace tessera {
namespace {

constexpr std::size_t kPadding = 2;

struct Line {
    std::vector<std::string_view> cells;  // each ended by a tab
    std::vector<std::size_t> widths;      // parallel to cells
    std::string_view rest;
};

Line split(std::string_view text) {
    Line line;
    for (std::size_t tab = 0; (tab = text.find('\t')) != std::string_view::npos;) {
        line.cells.push_back(text.substr(0, tab));
        text.remove_prefix(tab + 1);
    }
    line.widths.resize(line.cells.size());
    line.rest = text;
    return line;
}

// Characters, not bytes: continuation bytes of UTF-8 have no width.
std::size_t runes(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

void set_widths(std::vector<Line>& lines, std::size_t column, std::size_t first, std::size_t last) {
    std::size_t width = 0;
    for (std::size_t i = first; i < last; ++i) {
        width = std::max(width, runes(lines[i].cells[column]) + kPadding);
    }
    for (std::size_t i = first; i < last; ++i)
        lines[i].widths[column] = width;
}

}  // namespace

std::string align_tabs(std::string_view text) {
    std::vector<Line> lines;
    std::size_t columns = 0;
    const bool ends_in_newline = text.ends_with('\n');
    if (ends_in_newline) text.remove_suffix(1);
    while (true) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.push_back(split(text.substr(0, end)));
        columns = std::max(columns, lines.back().cells.size());
        if (end == text.size()) break;
        text.remove_prefix(end + 1);
    }
    for (std::size_t column = 0; column < columns; ++column) {
        for (std::size_t first = 0; first < lines.size();) {
            std::size_t last = first;
            while (last < lines.size() && lines[last].cells.size() > column)
                ++last;
            set_widths(lines, column, first, last);
            first = last + 1;
        }
    }
    std::string out;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        for (std::size_t c = 0; c < lines[i].cells.size(); ++c) {
            out += lines[i].cells[c];
            out.append(lines[i].widths[c] - runes(lines[i].cells[c]), ' ');
        }
        out += lines[i].rest;
        if (i + 1 < lines.size() || ends_in_newline) out += '\n';
    }
    return out;
}

std::string align_tabs_and_trim(std::string_view text) {
    std::string out;
    for (const char c : align_tabs(text)) {
        if (c == '\n') out.erase(out.find_last_not_of(' ') + 1);
        out += c;
    }
    return out;
}

}  // namespace tessera
