#include "programs/common/commands.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <iostream>
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
    std::vector<CommandRun> runs;
    std::vector<CLI::App*> commands;
    for (const CommandRow& row : program.commands) {
        commands.push_back(app.add_subcommand(std::string(row.name), std::string(row.summary)));
        runs.push_back(row.options(*commands.back()));
        const std::string more = commands.back()->get_footer();
        commands.back()->footer(
            fmt::format("Example: {}{}{}", row.example, more.empty() ? "" : "\n\n", more));
    }
    try {
        app.parse(command_line(argc, argv));
    } catch (const CLI::ParseError& error) {
        if (const auto rest = app.remaining(); app.get_subcommands().empty() && !rest.empty()) {
            return print_error(
                program.name,
                {Code::invalid_argument, fmt::format("no command \"{}\"; there is {}", rest.front(),
                                                     names_of(program.commands))});
        }
        return app.exit(error) == 0 ? 0 : exit_status(Code::invalid_argument);
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (!commands[i]->parsed()) continue;
        const Result<int> status = runs[i]();
        if (!status) return print_error(program.name, status.error());
        if (*status != 0 || std::cout.flush()) return *status;
        if (is_reader_gone()) return 0;
        return print_error(program.name, {Code::unavailable, "the output cannot be written"});
    }
    return 0;
}

}  // namespace tessera
