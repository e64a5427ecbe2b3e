#include "programs/common/commands.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "base/edit_distance.hpp"
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

// The command that the line names, with its names: "tessera serve list".
std::pair<const CLI::App*, std::string> named_command(const CLI::App& app, std::string path) {
    for (const CLI::App* command : app.get_subcommands())
        return named_command(*command, path + " " + command->get_name());
    return {&app, std::move(path)};
}

// Lower case, without the marks that people place differently: --gpu-memory is --gpumemory.
std::string plain_flag(std::string_view name) {
    std::string out;
    for (const char c : name.substr(0, name.find('='))) {
        if (c != '-' && c != '_') out += to_lower(c);
    }
    return out;
}

// The flag of the command that differs in at most two letters; empty: none.
std::string nearest_flag(const CLI::App& command, std::string_view given) {
    constexpr std::size_t kFew = 2;
    const std::string wanted = plain_flag(given);
    std::string best;
    std::size_t least = std::min(kFew + 1, wanted.size());
    for (const CLI::Option* option : command.get_options()) {
        for (const std::string& name : option->get_lnames()) {
            const std::size_t away = edit_distance(wanted, plain_flag(name));
            if (away >= least) continue;
            least = away;
            best = "--" + name;
        }
    }
    return best;
}

// The error for a flag that the command does not have, if it has one like it.
std::optional<Error> unknown_flag(const CLI::App& app, std::string_view program) {
    const auto [command, path] = named_command(app, std::string(program));
    for (const std::string& word : command->remaining()) {
        if (!word.starts_with("--") || word.size() == 2) continue;
        const std::string meant = nearest_flag(*command, word);
        if (meant.empty()) return std::nullopt;
        return Error{Code::invalid_argument,
                     fmt::format("{} has no flag {}: did you mean {}? See {} --help", path,
                                 word.substr(0, word.find('=')), meant, path)};
    }
    return std::nullopt;
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
        const bool is_failure = error.get_exit_code() != 0;  // --help is none
        const auto unknown = is_failure ? unknown_flag(app, program.name) : std::nullopt;
        if (unknown) return print_error(program.name, *unknown);
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
