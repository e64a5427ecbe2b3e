#include "wire/shell/agent_arguments.hpp"

#include <cstddef>
#include <string_view>

namespace tessera {
namespace {

// Options of ssh, see ssh(1).
constexpr std::string_view kWithoutValue = "1246AaCfGgKkMNnqsTtVvXxYy";
constexpr std::string_view kWithValue = "BbcDEeFIiJLlmOopQRSWw";

// How many words an option takes; 0: it is unknown. -qx is -q and -x, and -luser is -l user.
std::size_t words_of(std::string_view option) {
    for (std::size_t i = 1; i < option.size(); ++i) {
        if (kWithValue.find(option[i]) != std::string_view::npos)
            return i + 1 == option.size() ? 2 : 1;
        if (kWithoutValue.find(option[i]) == std::string_view::npos) return 0;
    }
    return 1;
}

}  // namespace

Result<AgentCall> read_agent_arguments(const std::vector<std::string>& words) {
    std::size_t at = 0;
    while (at < words.size() && words[at].size() > 1 && words[at].starts_with('-')) {
        if (words[at] == "--") {
            ++at;
            break;
        }
        const std::size_t taken = words_of(words[at]);
        if (taken == 0) {
            return fail(Code::invalid_argument,
                        words[at] + ": is not an option of ssh; write HOST COMMAND...");
        }
        at += taken;
    }
    if (at >= words.size()) return fail(Code::invalid_argument, "the host is missing");
    AgentCall out{.host = words[at].substr(words[at].rfind('@') + 1), .command = {}};
    if (out.host.empty()) return fail(Code::invalid_argument, "the host is empty");
    for (std::size_t i = at + 1; i < words.size(); ++i) {
        if (i > at + 1) out.command += ' ';
        out.command += words[i];
    }
    if (out.command.empty()) {
        return fail(Code::invalid_argument,
                    "the command is missing; a shell without a command is not supported");
    }
    return out;
}

}  // namespace tessera
