#include "testing/fuzz/fuzz.hpp"
#include "wire/extender/preemption_json.hpp"
#include "wire/text/json.hpp"

// The answer to any request that can be read is JSON.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto args = read_preemption_args(fuzz_text(data, size));
    if (args) FUZZ_CHECK(JsonDocument::parse(write_preemption_result(args->nodes)));
    return 0;
}
