#include "base/quantity.hpp"
#include "testing/fuzz/fuzz.hpp"

// Any text gives a number that is not negative and that prints back, or an error of one line.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto value = parse_whole_quantity(fuzz_text(data, size));
    if (value) {
        FUZZ_CHECK(*value >= 0);
        FUZZ_CHECK(parse_whole_quantity(to_string(Bytes{*value})).value() == *value);
    } else {
        FUZZ_CHECK(value.error().code == Code::invalid_argument);
        FUZZ_CHECK(value.error().text.size() < 256);
    }
    return 0;
}
