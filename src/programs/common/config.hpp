// Configuration from one table per program (controller.def, agent.def): the struct, the flags, the
// file's keys, the environment variables, the help and --print-config all come from its rows.
//
// A value comes from, in this order: the flag, the environment variable, the --config file, the
// default.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tessera {

enum class ConfigType {
    text,
    integer,
    flag,
    address,        // to listen on: IPv4, IPv6 or localhost
    absolute_path,  // of a folder or socket that is always needed, hence never empty
    list,           // comma-separated words; empty: none
    path_list,      // comma-separated absolute paths; empty: none
};

struct ConfigRow {
    ConfigType type;
    std::string_view name;  // key in the file; the flag has dashes for underscores
    std::string_view default_value;
    std::int64_t least;  // minimum of an integer
    std::int64_t most;
    std::string_view variable;  // environment variable; empty: none
    std::string_view help;
};

using ConfigValues = std::map<std::string, std::string, std::less<>>;

// Returns a complete and checked value for each row. The error names every fault, not only the
// first.
Result<ConfigValues> resolve_config(std::span<const ConfigRow> rows, const ConfigValues& flags,
                                    const ConfigValues& file,
                                    const std::function<const char*(const char*)>& environment);

// Reads the file: one YAML document, a flat mapping. Unknown keys are refused; the error lists the
// known ones.
Result<ConfigValues> read_config_file(std::span<const ConfigRow> rows, const std::string& yaml);

// invalid_argument, naming the key and all choices, if `value` is not one of them.
Result<> check_choice(std::string_view name, std::string_view value,
                      std::initializer_list<std::string_view> choices);

// The resolved values as a file that read_config_file reads.
std::string print_config(std::span<const ConfigRow> rows, const ConfigValues& values);

}  // namespace tessera

// Typed access for the structs that the .def files generate.
#define CONFIG_MEMBER_text std::string
#define CONFIG_MEMBER_integer std::int64_t
#define CONFIG_MEMBER_flag bool
#define CONFIG_MEMBER_address std::string
#define CONFIG_MEMBER_absolute_path std::string
#define CONFIG_MEMBER_list std::vector<std::string>
#define CONFIG_MEMBER_path_list std::vector<std::string>

namespace tessera {
// The entries of a list, without surrounding white space.
std::vector<std::string> split_list(std::string_view text);

inline void config_assign(std::vector<std::string>& to, const std::string& value) {
    to = split_list(value);
}
inline void config_assign(std::string& to, const std::string& value) {
    to = value;
}
inline void config_assign(std::int64_t& to, const std::string& value) {
    to = std::stoll(value);
}
inline void config_assign(bool& to, const std::string& value) {
    to = value == "true";
}
}  // namespace tessera
