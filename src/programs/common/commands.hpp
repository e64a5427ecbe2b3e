// Programs with commands, such as `tessera top`: a table with one row per command.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tessera {

// Runs a command after its options were parsed. Returns the exit status, or an error to print.
using CommandRun = std::function<Result<int>()>;

// A command, a group of commands such as `tessera serve`, or both: `tessera top` runs by itself if
// none of its commands follows.
struct CommandRow {
    std::string_view name;
    std::string_view summary;  // one sentence
    std::string_view example;  // a command line
    // Adds the options and arguments to the command. Empty for a group that does not run.
    std::function<CommandRun(CLI::App& command)> options = {};
    std::vector<CommandRow> commands = {};  // of a group
    std::vector<std::string> aliases = {};  // other names
};

// The column `options` of a command whose options are an `Options`: `add` binds them to one, which
// `run` gets after parsing.
template <class Options, class Add, class Run>
auto options_and_run(Add add, Run run) {
    return [add, run](CLI::App& command) -> CommandRun {
        auto options = std::make_shared<Options>();
        add(command, *options);
        return [options, run] { return run(*options); };
    };
}

struct CommandProgram {
    std::string name;
    std::string description;
    std::string footer;  // of the help; may be empty
    std::span<const CommandRow> commands;
};

// Parses the command line and runs the command that it names. Prints an error to stderr, as "NAME:
// text". Returns the exit status: 2 for wrong usage, that of the error code for an error.
int run_commands(const CommandProgram& program, int argc, char** argv);

// Prints an error in the same way and returns its exit status.
int print_error(std::string_view program, const Error& error);

}  // namespace tessera
