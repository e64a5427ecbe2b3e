#include "programs/common/config.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <sstream>

namespace tessera {
namespace {

std::string list_of_names(std::span<const ConfigRow> rows) {
    std::string out;
    for (const ConfigRow& row : rows) {
        out += out.empty() ? "" : ", ";
        out += row.name;
    }
    return out;
}

bool is_address(const std::string& text) {
    in6_addr room{};
    return text == "localhost" || ::inet_pton(AF_INET, text.c_str(), &room) == 1 ||
           ::inet_pton(AF_INET6, text.c_str(), &room) == 1;
}

std::string list_fault(const ConfigRow& row, const std::string& value) {
    for (const std::string& part : split_list(value)) {
        if (part.empty())
            return fmt::format("{}: \"{}\" has an empty entry; write a,b", row.name, value);
        if (row.type == ConfigType::path_list && !part.starts_with('/'))
            return fmt::format("{}: \"{}\" is not a path that begins with /", row.name, part);
    }
    return {};
}

// Why `value` is not one for the row; empty when it is.
std::string fault(const ConfigRow& row, const std::string& value) {
    switch (row.type) {
        case ConfigType::text:
            return {};
        case ConfigType::flag:
            if (value == "true" || value == "false") return {};
            return fmt::format("{}: \"{}\" is not true or false", row.name, value);
        case ConfigType::integer: {
            std::int64_t number = 0;
            const auto [end, error] =
                std::from_chars(value.data(), value.data() + value.size(), number);
            const bool whole = error == std::errc{} && end == value.data() + value.size();
            if (whole && number >= row.least && number <= row.most) return {};
            return fmt::format("{}: \"{}\" is not a whole number from {} to {}", row.name, value,
                               row.least, row.most);
        }
        case ConfigType::address:
            if (is_address(value)) return {};
            return fmt::format("{}: \"{}\" is not an IPv4 or IPv6 address, nor localhost", row.name,
                               value);
        case ConfigType::absolute_path:
            if (value.starts_with('/')) return {};
            return fmt::format("{}: \"{}\" is not a path that begins with /", row.name, value);
        case ConfigType::list:
        case ConfigType::path_list:
            return list_fault(row, value);
    }
    return {};
}

// By their markers (YAML 1.2, 9.1.2: no content begins a line with one). The library reads the
// first alone, and its LoadAll does not end on some broken texts.
bool holds_several_documents(const std::string& yaml) {
    int documents = 0;
    std::istringstream lines(yaml);
    for (std::string line; std::getline(lines, line);) {
        const bool is_marker = line.starts_with("---") && line.find_first_not_of(" \t\r", 3) != 3;
        const std::size_t first = line.find_first_not_of(" \t\r\xef\xbb\xbf");  // a BOM, too
        const bool is_content =
            first != std::string::npos && line[first] != '#' && !line.starts_with('%');
        if (is_marker || (is_content && documents == 0)) ++documents;
    }
    return documents > 1;
}

}  // namespace

std::vector<std::string> split_list(std::string_view text) {
    constexpr std::string_view kSpace = " \t";
    std::vector<std::string> out;
    if (text.find_first_not_of(kSpace) == std::string_view::npos) return out;
    while (true) {
        const std::size_t comma = text.find(',');
        std::string_view part = text.substr(0, comma);
        const std::size_t first = part.find_first_not_of(kSpace);
        part = first == std::string_view::npos
                   ? std::string_view{}
                   : part.substr(first, part.find_last_not_of(kSpace) - first + 1);
        out.emplace_back(part);
        if (comma == std::string_view::npos) return out;
        text.remove_prefix(comma + 1);
    }
}

Result<ConfigValues> resolve_config(std::span<const ConfigRow> rows, const ConfigValues& flags,
                                    const ConfigValues& file,
                                    const std::function<const char*(const char*)>& environment) {
    ConfigValues values;
    std::string faults;
    for (const ConfigRow& row : rows) {
        std::string value(row.default_value);
        if (const auto at = file.find(row.name); at != file.end()) value = at->second;
        if (!row.variable.empty()) {
            const char* set = environment(std::string(row.variable).c_str());
            if (set != nullptr && *set != '\0') value = set;
        }
        if (const auto at = flags.find(row.name); at != flags.end()) value = at->second;
        if (const std::string why = fault(row, value); !why.empty()) {
            faults += (faults.empty() ? "" : "; ") + why;
        }
        values.emplace(row.name, std::move(value));
    }
    if (!faults.empty()) return fail(Code::invalid_argument, faults);
    return values;
}

Result<ConfigValues> read_config_file(std::span<const ConfigRow> rows, const std::string& yaml) {
    ConfigValues values;
    std::string faults;
    try {
        if (holds_several_documents(yaml))
            return fail(Code::invalid_argument, "holds several YAML documents; leave one");
        const YAML::Node root = YAML::Load(yaml);
        if (root.IsNull()) return values;
        if (!root.IsMap())
            return fail(Code::invalid_argument, "is not a mapping of keys to values");
        for (const auto& pair : root) {
            const auto key = pair.first.as<std::string>();
            const bool known = std::ranges::find(rows, key, &ConfigRow::name) != rows.end();
            if (!known) {
                faults += fmt::format("{}{}: unknown key", faults.empty() ? "" : "; ", key);
            } else if (!pair.second.IsScalar()) {
                faults +=
                    fmt::format("{}{}: needs a single value", faults.empty() ? "" : "; ", key);
            } else if (!values.emplace(key, pair.second.as<std::string>()).second) {
                faults += fmt::format("{}{}: stands twice", faults.empty() ? "" : "; ", key);
            }
        }
    } catch (const YAML::Exception& error) {
        return fail(Code::invalid_argument, error.what());
    }
    if (faults.empty()) return values;
    return fail(Code::invalid_argument, faults + " (known keys: " + list_of_names(rows) + ")");
}

Result<> check_choice(std::string_view name, std::string_view value,
                      std::initializer_list<std::string_view> choices) {
    if (std::ranges::find(choices, value) != choices.end()) return {};
    return fail(Code::invalid_argument,
                fmt::format("{}: \"{}\" is not {}", name, value, fmt::join(choices, " or ")));
}

std::string print_config(std::span<const ConfigRow> rows, const ConfigValues& values) {
    std::string out;
    for (const ConfigRow& row : rows) {
        YAML::Emitter value;
        const bool is_bare = row.type == ConfigType::integer || row.type == ConfigType::flag;
        if (!is_bare) value << YAML::DoubleQuoted;
        value << values.find(row.name)->second;
        out += fmt::format("# {}\n{}: {}\n", row.help, row.name, value.c_str());
    }
    return out;
}

}  // namespace tessera
