#include "testing/fuzz/fuzz.hpp"
#include "wire/mps/mps_folder_json.hpp"

// What can be read is a limit, and survives write and read.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto text = fuzz_text(data, size);
    if (const auto settings = read_mps_settings(text)) {
        FUZZ_CHECK(settings->threads >= Percent{1} && settings->threads <= Percent{100});
        FUZZ_CHECK(settings->memory >= mebibytes(1));
        const auto again = read_mps_settings(write_mps_settings(*settings));
        FUZZ_CHECK(again && *again == *settings);
    }
    if (const auto state = read_mps_state(text)) {
        const auto again = read_mps_state(write_mps_state(*state));
        FUZZ_CHECK(again && *again == *state);
    }
    if (const auto grant = read_mps_grant(text)) {
        const auto again = read_mps_grant(write_mps_grant(*grant));
        FUZZ_CHECK(again && *again == *grant);
    }
    if (const auto reported = read_mps_reported(text)) {
        const auto again = read_mps_reported(write_mps_reported(*reported));
        FUZZ_CHECK(again && *again == *reported);
    }
    return 0;
}
