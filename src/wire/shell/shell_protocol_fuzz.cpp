#include <algorithm>

#include "testing/fuzz/fuzz.hpp"
#include "wire/shell/agent_arguments.hpp"
#include "wire/shell/shell_protocol.hpp"

// What a peer may send. The first byte says which side it is, and the size of the pieces; then the
// frames are the same as in one piece. The input is also the arguments of mpirun's agent.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    std::string_view text = fuzz_text(data, size);
    if (text.empty()) return 0;
    const auto choice = static_cast<unsigned char>(text[0]);
    text.remove_prefix(1);
    const ShellSide sender = choice % 2 == 0 ? ShellSide::client : ShellSide::server;
    const auto read = [&](std::size_t piece) {
        std::string out;
        ShellFrameReader reader(sender);
        for (std::size_t at = 0; at < text.size(); at += piece) {
            reader.add(text.substr(at, piece));
            for (;;) {
                const auto frame = reader.next();
                if (!frame) return out + "error";
                if (!*frame) break;
                FUZZ_CHECK((*frame)->payload.size() <= kMostPayload);
                out += write_shell_frame((*frame)->type, (*frame)->payload);
            }
        }
        FUZZ_CHECK(text.starts_with(out));
        return out;
    };
    FUZZ_CHECK(read(text.size() + 1) == read(1 + choice / 2));
    (void)read_greeting(text.substr(0, kGreetingBytes));
    std::vector<std::string> words;
    for (std::string_view rest = text; !rest.empty();) {
        const std::string_view word = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), word.size() + 1));
        words.emplace_back(word);
    }
    if (const auto call = read_agent_arguments(words))
        FUZZ_CHECK(!call->host.empty() && !call->command.empty());
    return 0;
}
