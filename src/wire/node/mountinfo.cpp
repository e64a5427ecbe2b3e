#include "wire/node/mountinfo.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace tessera {
namespace {

// The first five fields: id, parent id, device, root, mount point. The others are not needed.
constexpr std::size_t kFields = 5;

bool is_octal(char c) {
    return c >= '0' && c <= '7';
}

// The kernel writes space, tab, newline and backslash as three octal digits.
std::string unescaped(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); i++) {
        const bool is_escape = text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) &&
                               is_octal(text[i + 2]) && is_octal(text[i + 3]);
        if (!is_escape) {
            out += text[i];
            continue;
        }
        out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                 (text[i + 3] - '0'));
        i += 3;
    }
    return out;
}

bool parse_number(std::string_view text, std::int64_t& out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end == text.data() + text.size() && out >= 0;
}

bool parse_line(std::string_view line, MountEntry& out) {
    std::array<std::string_view, kFields> fields;
    for (std::string_view& field : fields) {
        const std::size_t ns = line.find(' ');
        field = line.substr(0, ns);
        if (field.empty()) return false;
        line = ns == std::string_view::npos ? std::string_view{} : line.substr(ns + 1);
    }
    if (!parse_number(fields[0], out.id) || !parse_number(fields[1], out.parent)) return false;
    out.device = fields[2];
    out.root = unescaped(fields[3]);
    out.mount_point = unescaped(fields[4]);
    return true;
}

}  // namespace

Result<std::vector<MountEntry>> read_mountinfo(std::string_view text) {
    std::vector<MountEntry> out;
    for (int number = 1; !text.empty(); number++) {
        const std::size_t end = text.find('\n');
        MountEntry entry;
        if (!parse_line(text.substr(0, end), entry)) {
            return fail(Code::invalid_argument,
                        fmt::format("mountinfo: line {} has an unknown format", number));
        }
        out.push_back(std::move(entry));
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    }
    return out;
}

}  // namespace tessera
