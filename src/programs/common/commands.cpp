#include "programs/common/commands.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <vector>

#include "programs/common/command_line.hpp"
#include "programs/common/version.hpp"

namespace tessera {
namespace {

// "a, b and c"
std::string names_of(std::span<const CommandRow> commands) {
    std::string out;
    for (const CommandRow& row : commands) {
        const bool is_last = &row == &commands.back();
        out += out.empty() ? "" : is_last ? " and " : ", ";
        out += row.name;
    }
    return out;
}

// The output goes to a pipe whose reader has ended, as in `tessera top | head`: it had enough.
bool is_reader_gone() {
    pollfd output{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
    return ::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

// A command that can be run.
struct Leaf {
    CLI::App* app = nullptr;
    CommandRun run;
};

void add_commands(CLI::App& parent, std::span<const CommandRow> rows, std::vector<Leaf>& leaves) {
    for (const CommandRow& row : rows) {
        CLI::App& app = *parent.add_subcommand(std::string(row.name), std::string(row.summary));
        for (const std::string& alias : row.aliases)
            app.alias(alias);
        if (row.options) leaves.push_back({&app, row.options(app)});
        if (!row.options) app.require_subcommand(1);
        add_commands(app, row.commands, leaves);
        const std::string more = app.get_footer();
        app.footer(fmt::format("Example: {}{}{}", row.example, more.empty() ? "" : "\n\n", more));
    }
}

// The error for a command line that names a command that does not exist; nothing if it does not.
std::optional<Error> unknown_command(const CLI::App& app, std::span<const CommandRow> rows,
                                     const std::string& path = "") {
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
        if (!command->parsed()) continue;
        const auto row = std::ranges::find(rows, command->get_name(), &CommandRow::name);
        return row->commands.empty() ? std::nullopt
                                     : unknown_command(*command, row->commands,
                                                       fmt::format("{}{} ", path, row->name));
    }
    const auto rest = app.remaining();
    if (rest.empty() || rest.front().starts_with('-')) return std::nullopt;
    return Error{Code::invalid_argument, fmt::format("no command \"{}{}\"; there is {}", path,
                                                     rest.front(), names_of(rows))};
}

}  // namespace

int print_error(std::string_view program, const Error& error) {
    std::cerr << program << ": " << error.text << "\n";
    return exit_status(error.code);
}

int run_commands(const CommandProgram& program, int argc, char** argv) {
    CLI::App app{program.description, program.name};
    app.set_version_flag("--version", version_text(program.name));
    app.require_subcommand(1)->footer(program.footer);
    app.failure_message(failure_message_of(program.name));
    std::vector<Leaf> leaves;
    add_commands(app, program.commands, leaves);
    try {
        app.parse(command_line(app, argc, argv));
    } catch (const CLI::ParseError& error) {
        if (const auto unknown = unknown_command(app, program.commands))
            return print_error(program.name, *unknown);
        return app.exit(error) == 0 ? 0 : exit_status(Code::invalid_argument);
    }
    for (const Leaf& leaf : leaves) {
        if (!leaf.app->parsed() || !leaf.app->get_subcommands().empty()) continue;
        const Result<int> status = leaf.run();
        if (!status) return print_error(program.name, status.error());
        if (*status != 0 || std::cout.flush()) return *status;
        if (is_reader_gone()) return 0;
        return print_error(program.name, {Code::unavailable, "the output cannot be written"});
    }
    return 0;
}

}  // namespace tessera
