#include "testing/fuzz/fuzz.hpp"
#include "wire/mps/mps_report_json.hpp"

// What can be read survives write and read.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    if (const auto report = read_mps_report(fuzz_text(data, size))) {
        const auto again = read_mps_report(write_mps_report(*report));
        FUZZ_CHECK(again && *again == *report);
    }
    if (const auto logs = read_mps_logs(fuzz_text(data, size))) {
        const auto again = read_mps_logs(write_mps_logs(*logs));
        FUZZ_CHECK(again && *again == *logs);
    }
    return 0;
}
