#include "testing/fuzz/fuzz.hpp"
#include "wire/tessera/cluster_dump_json.hpp"

// A dump that can be read names existing nodes and GPUs, and survives write and read. An error
// names the place.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto dump = read_dump(fuzz_text(data, size));
    if (!dump) {
        FUZZ_CHECK(!dump.error().text.empty());
        return 0;
    }
    for (const DumpPod& pod : dump->pods)
        FUZZ_CHECK(!pod.requests.empty() && pod.node.empty() == pod.allocated.empty());
    const auto again = read_dump(write_dump(*dump));
    FUZZ_CHECK(again && *again == *dump);
    return 0;
}
