#include "adapters/http/web_socket_frames.hpp"
#include "testing/fuzz/fuzz.hpp"

// Bytes that a server may send, whole and one by one: the same messages, or the same error.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const std::string_view text = fuzz_text(data, size);
    FrameReader whole;
    FrameReader parts;
    whole.add(text);
    std::size_t at = 0;
    while (true) {
        const auto message = whole.next();
        auto same = parts.next();
        while (same && !*same && at < text.size()) {
            parts.add(text.substr(at++, 1));
            same = parts.next();
        }
        FUZZ_CHECK(message.has_value() == same.has_value());
        if (!message || !*message) return 0;
        FUZZ_CHECK(*same && (*message)->text == (*same)->text && (*message)->kind == (*same)->kind);
    }
}
