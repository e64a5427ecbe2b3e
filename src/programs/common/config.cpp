#include "programs/common/config.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>

namespace tessera {
namespace {

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

// What is wrong with `value` for this row; empty if nothing is.
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
            if (is_address(value) || (value.empty() && row.default_value.empty())) return {};
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
