#include "adapters/nri/ttrpc.hpp"
#include "testing/fuzz/fuzz.hpp"

// The same messages are returned whether the bytes come at once or one by one, up to an error.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const std::string_view bytes = fuzz_text(data, size);
    TtrpcDecoder whole;
    const auto at_once = whole.append(bytes);
    TtrpcDecoder pieces;
    std::size_t messages = 0;
    bool failed = false;
    for (std::size_t i = 0; i < size && !failed; ++i) {
        const auto got = pieces.append(bytes.substr(i, 1));
        failed = !got;
        if (got) messages += got->size();
    }
    FUZZ_CHECK(failed == !at_once.has_value());
    if (at_once) FUZZ_CHECK(at_once->size() == messages);
    return 0;
}
