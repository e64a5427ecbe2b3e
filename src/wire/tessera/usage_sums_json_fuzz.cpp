#include "testing/fuzz/fuzz.hpp"
#include "wire/tessera/usage_sums_json.hpp"

// What can be read, as an answer or as a query, survives write and read.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    if (const auto sums = read_usage_sums(fuzz_text(data, size))) {
        const auto again = read_usage_sums(write_usage_sums(*sums));
        FUZZ_CHECK(again && *again == *sums);
    }
    if (const auto query = read_usage_query(fuzz_text(data, size))) {
        const auto again = read_usage_query(write_usage_query(*query));
        FUZZ_CHECK(again && *again == *query);
    }
    return 0;
}
