#include "programs/common/command_line.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/result.hpp"

namespace tessera {

std::vector<std::string> command_line(int argc, const char* const* argv) {
    std::vector<std::string> words;
    for (int i = 1; i < argc; ++i) {
        std::string word = argv[i];
        const bool is_empty_value = word.starts_with("--") && word.find('=') == word.size() - 1;
        if (is_empty_value) word.pop_back();
        words.push_back(std::move(word));
        if (is_empty_value) words.emplace_back();
    }
    std::ranges::reverse(words);
    return words;
}

std::string exit_statuses() {
    return fmt::format(
        "Exit status: 0 done, 1 doctor found a failure, {} wrong use, {} no such node, {} not "
        "allowed, {} no answer.",
        exit_status(Code::invalid_argument), exit_status(Code::not_found),
        exit_status(Code::permission_denied), exit_status(Code::unavailable));
}

}  // namespace tessera
