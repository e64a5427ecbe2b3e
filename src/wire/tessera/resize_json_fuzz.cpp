#include "testing/fuzz/fuzz.hpp"
#include "wire/tessera/resize_json.hpp"

// A request that can be read survives write and read, with each container once. Any text can be
// refused, and is then recognized as refused. A refusal may be any text too.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto text = fuzz_text(data, size);
    FUZZ_CHECK(is_refusal_of(write_resize_refusal(text, {Code::conflict, "because"}), text));
    is_refusal_of(text, "request");
    read_resize_refusal(text);
    const auto requested = read_resize_request(text);
    if (!requested) return 0;
    FUZZ_CHECK(!requested->containers.empty());
    const auto again = read_resize_request(write_resize_request(*requested, "id"));
    FUZZ_CHECK(again && *again == *requested);
    return 0;
}
