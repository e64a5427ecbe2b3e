#include "testing/fuzz/fuzz.hpp"
#include "wire/workload/exec_protocol.hpp"

// Messages that an API server may send, and words that a user may give.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const std::string text(fuzz_text(data, size));
    if (const auto message = read_exec_message(text))
        FUZZ_CHECK(write_exec_message(message->channel, message->text) == text);
    if (const auto status = read_exec_status(text)) FUZZ_CHECK(*status >= 0 && *status <= 255);
    const std::string path = exec_path({{"a", "b"}, "c", {text}, false});
    FUZZ_CHECK(path.find_first_of(" #\"<>\n") == std::string::npos);
    return 0;
}
