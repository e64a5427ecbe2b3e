#include "testing/fuzz/fuzz.hpp"
#include "wire/resize_json.hpp"

// What reads comes back from its own text, each container once; any text can be refused, and has
// then been; a refusal is any text too.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto text = fuzz_text(data, size);
    FUZZ_CHECK(is_refusal_of(write_resize_refusal(text, {Code::conflict, "because"}), text));
    is_refusal_of(text, "wish");
    read_resize_refusal(text);
    const auto wish = read_resize_wish(text);
    if (!wish) return 0;
    FUZZ_CHECK(!wish->containers.empty());
    const auto again = read_resize_wish(write_resize_wish(*wish, "id"));
    FUZZ_CHECK(again && *again == *wish);
    return 0;
}
