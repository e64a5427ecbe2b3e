// Options of flags of which the last value counts, and of lists.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "programs/common/validators.hpp"

namespace tessera {

inline CLI::Option* last(CLI::Option* option) {
    return option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

// A flag that may be repeated. It takes one value: CLI11 would take further words, and a "--" after
// them.
inline CLI::Option* add_list(CLI::App& command, const char* names, std::vector<std::string>& out,
                             const char* help) {
    return command.add_option(names, out, help)
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

template <class T>
void add_flag_value(CLI::App& command, const char* names, T& out, const char* help) {
    last(command.add_option(names, out, help));
}

// With its default in the help.
template <class T>
void add_default(CLI::App& command, const char* names, T& out, const char* help) {
    last(command.add_option(names, out, help))->capture_default_str();
}

inline void add_number(CLI::App& command, const char* names, int& out, std::uint64_t most,
                       const char* help) {
    last(command.add_option(names, out, help))
        ->transform(whole_number(0, most))
        ->capture_default_str();
}

inline void add_port(CLI::App& command, const char* name, int& out, const char* help) {
    add_number(command, name, out, 65'535, help);
}

}  // namespace tessera
