#include "programs/common/command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/result.hpp"

namespace tessera {
namespace {

struct ShortName {
    std::string_view given;
    std::string_view whole;
};
constexpr auto kShortNames = std::to_array<ShortName>({
    {"-d=", "--details="},
    {"-n=", "--namespace="},
    {"-o=", "--output="},
});

}  // namespace

std::vector<std::string> command_line(int argc, const char* const* argv) {
    std::vector<std::string> words;
    for (int i = 1; i < argc; ++i) {
        std::string word = argv[i];
        for (const ShortName& row : kShortNames) {
            if (word.starts_with(row.given)) word.replace(0, row.given.size(), row.whole);
        }
        const bool is_empty_value = word.starts_with("--") && word.find('=') == word.size() - 1;
        if (is_empty_value) word.pop_back();
        words.push_back(std::move(word));
        if (is_empty_value) words.emplace_back();
    }
    std::ranges::reverse(words);
    return words;
}

std::function<std::string(const CLI::App*, const CLI::Error&)> failure_message_of(
    std::string program) {
    return [program = std::move(program)](const CLI::App* app, const CLI::Error& error) {
        return program + ": " + CLI::FailureMessage::simple(app, error);
    };
}

std::string exit_statuses() {
    return fmt::format(
        "Exit status: 0 success, 1 doctor found a failure, {} wrong usage or an invalid amount, "
        "{} no such node, pod or container, {} refused in the current state, {} permission "
        "denied, {} no answer, {} not supported there, {} credentials not accepted.",
        exit_status(Code::invalid_argument), exit_status(Code::not_found),
        exit_status(Code::conflict), exit_status(Code::permission_denied),
        exit_status(Code::unavailable), exit_status(Code::unsupported),
        exit_status(Code::unauthenticated));
}

}  // namespace tessera
