#include "programs/common/command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/result.hpp"

namespace tessera {
namespace {

// The command of `app` that this word names, or `app`.
const CLI::App* command_of(const CLI::App* app, const std::string& word) {
    for (const CLI::App* command : app->get_subcommands([](const CLI::App*) { return true; })) {
        if (command->check_name(word)) return command;
    }
    return app;
}

// "--output=json" of "-o=json", if the command has such an option.
std::string with_long_name(const CLI::App& app, const std::string& word) {
    const bool is_short_with_value =
        word.size() > 2 && word[0] == '-' && word[1] != '-' && word[2] == '=';
    if (!is_short_with_value) return word;
    for (const CLI::Option* option : app.get_options()) {
        if (option->check_sname(word.substr(1, 1)) && !option->get_lnames().empty())
            return "--" + option->get_lnames().front() + word.substr(2);
    }
    return word;
}

// Options that may precede the command. Each has a value.
constexpr auto kLeading =
    std::to_array<std::string_view>({"-n", "--namespace", "--kubeconfig", "--config", "--context"});

// The number of arguments, 1 or 2, that such an option and its value have; 0: it is none.
std::ptrdiff_t leading_words(std::string_view argument) {
    if (argument.starts_with("-n") && argument.size() > 2) return 1;  // "-nteam", "-n=team"
    const std::string_view name = argument.substr(0, argument.find('='));
    if (std::ranges::find(kLeading, name) == kLeading.end()) return 0;
    return name.size() == argument.size() ? 2 : 1;
}

// Moves the options before the command behind its name.
void move_leading(const CLI::App& app, std::vector<std::string>& arguments) {
    const auto size = static_cast<std::ptrdiff_t>(arguments.size());
    std::ptrdiff_t begin = 0;
    while (begin < size) {
        const std::ptrdiff_t words = leading_words(arguments[static_cast<std::size_t>(begin)]);
        if (words == 0) break;
        begin = std::min(begin + words, size);
    }
    std::ptrdiff_t end = begin;
    for (const CLI::App* command = &app; end < size; ++end) {
        const CLI::App* next = command_of(command, arguments[static_cast<std::size_t>(end)]);
        if (next == command) break;
        command = next;
    }
    std::rotate(arguments.begin(), arguments.begin() + begin, arguments.begin() + end);
}

// CLI11 divides "[a,b]" into several words, unless something precedes it. add_words() removes this.
constexpr char kMark = '\x1f';

}  // namespace

std::vector<std::string> command_line(const CLI::App& app, std::vector<std::string> arguments) {
    move_leading(app, arguments);
    const CLI::App* command = &app;
    std::vector<std::string> words;
    bool is_option = true;  // no "--" yet
    for (std::string& argument : arguments) {
        if (argument == "--") is_option = false;
        if (!is_option) {
            if (argument.starts_with('[')) argument.insert(0, 1, kMark);
            words.push_back(std::move(argument));
            continue;
        }
        command = command_of(command, argument);
        std::string word = with_long_name(*command, argument);
        const bool is_empty_value = word.starts_with("--") && word.find('=') == word.size() - 1;
        if (is_empty_value) word.pop_back();
        words.push_back(std::move(word));
        if (is_empty_value) words.emplace_back();
    }
    std::ranges::reverse(words);
    return words;
}

std::vector<std::string> command_line(const CLI::App& app, int argc, const char* const* argv) {
    return command_line(app, std::vector<std::string>(argv + 1, argv + argc));
}

void add_words(CLI::App& command, std::vector<std::string>& words, const std::string& help) {
    const auto without_mark = [](std::string& word) {
        if (word.starts_with(kMark)) word.erase(0, 1);
        return std::string();
    };
    command.add_option("words", words, help)->transform(CLI::Validator(without_mark, "", ""));
}

std::function<std::string(const CLI::App*, const CLI::Error&)> failure_message_of(
    std::string program) {
    return [program = std::move(program)](const CLI::App* app, const CLI::Error& error) {
        return program + ": " + CLI::FailureMessage::simple(app, error);
    };
}

std::string exit_statuses() {
    return fmt::format(
        "Exit status: 0 success, 1 a check or a job that was waited for failed, {} "
        "wrong usage or invalid amount, {} no such node, pod or container, {} wrong state, {} "
        "permission denied, {} no answer, {} not supported there, {} credentials not accepted.",
        exit_status(Code::invalid_argument), exit_status(Code::not_found),
        exit_status(Code::conflict), exit_status(Code::permission_denied),
        exit_status(Code::unavailable), exit_status(Code::unsupported),
        exit_status(Code::unauthenticated));
}

}  // namespace tessera
