#include "testing/fuzz/fuzz.hpp"
#include "wire/tessera/usage_records_json.hpp"

// What can be read survives write and read, and can be charged.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto records = read_usage_records(fuzz_text(data, size));
    if (!records) return 0;
    for (const UsageRecord& record : *records)
        FUZZ_CHECK(check_record(record));
    const auto again = read_usage_records(write_usage_records(*records));
    FUZZ_CHECK(again && *again == *records);
    return 0;
}
