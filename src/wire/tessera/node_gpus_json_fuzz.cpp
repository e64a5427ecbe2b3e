#include "testing/fuzz/fuzz.hpp"
#include "wire/tessera/node_gpus_json.hpp"

// In a report that can be read, usable GPUs have memory. It survives write and read.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto gpus = read_node_gpus(fuzz_text(data, size));
    if (!gpus) return 0;
    for (const Gpu& gpu : gpus->gpus)
        FUZZ_CHECK(!gpu.uuid.empty() && gpu.capacity() >= Bytes{gpu.usable() ? 1 : 0});
    const auto again = read_node_gpus(write_node_gpus(*gpus));
    FUZZ_CHECK(again && again->gpus.size() == gpus->gpus.size());
    FUZZ_CHECK(write_node_gpus(*again) == write_node_gpus(*gpus));
    return 0;
}
