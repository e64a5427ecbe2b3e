#include "testing/fuzz/fuzz.hpp"
#include "wire/tessera/memory_limits_json.hpp"

// What can be read survives write and read.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto limits = read_memory_limits(fuzz_text(data, size));
    if (!limits) return 0;
    FUZZ_CHECK(!limits->limits.empty());
    const auto again = read_memory_limits(write_memory_limits(*limits));
    FUZZ_CHECK(again && *again == *limits);
    return 0;
}
