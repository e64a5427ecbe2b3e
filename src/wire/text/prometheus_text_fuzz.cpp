#include "domain/autoscaling/request_counter.hpp"
#include "testing/fuzz/fuzz.hpp"
#include "wire/text/prometheus_text.hpp"

// A pod's metrics are summed or refused, whatever it answers. A sum is not negative.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const std::string_view text = fuzz_text(data, size);
    if (const auto counter = parse_request_counter(text))
        FUZZ_CHECK(parse_request_counter(to_string(*counter)).value() == *counter);
    for (const char* name : {"n", ":tensorflow:serving:request_count", ""}) {
        const auto sum = sum_of_counter(text, name);
        if (sum) FUZZ_CHECK(*sum >= 0);
    }
    return 0;
}
