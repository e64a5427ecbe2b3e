#include "domain/budget/gpu_weight.hpp"
#include "testing/fuzz/fuzz.hpp"

// Any text gives a weight within bounds that prints back, or an error of one line.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto weight = parse_gpu_weight(fuzz_text(data, size));
    if (weight) {
        FUZZ_CHECK(*weight >= kLeastWeight && *weight <= kMostWeight);
        FUZZ_CHECK(parse_gpu_weight(to_string(*weight)).value() == *weight);
    } else {
        FUZZ_CHECK(weight.error().code == Code::invalid_argument);
        FUZZ_CHECK(weight.error().text.size() < 256);
    }
    return 0;
}
