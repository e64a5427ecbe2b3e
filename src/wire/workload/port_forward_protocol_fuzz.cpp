#include <algorithm>

#include "testing/fuzz/fuzz.hpp"
#include "wire/workload/port_forward_protocol.hpp"

// Messages that an API server may send: the input is cut at each newline.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const std::string text(fuzz_text(data, size));
    constexpr int kPort = 0x4142;  // "BA"
    ForwardReader reader(kPort);
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::string_view message = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), message.size() + 1));
        const auto read = reader.read(message);
        if (!read) break;
        if (*read) FUZZ_CHECK(!(*read)->text.empty() && (*read)->text.size() < message.size());
    }
    return 0;
}
