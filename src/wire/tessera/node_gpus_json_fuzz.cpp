#include "testing/fuzz/fuzz.hpp"
#include "wire/tessera/node_gpus_json.hpp"

// A report that can be read has usable GPUs and survives write and read.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto gpus = read_node_gpus(fuzz_text(data, size));
    if (!gpus) return 0;
    for (const Gpu& gpu : gpus->gpus)
        FUZZ_CHECK(gpu.capacity() > Bytes{} && !gpu.uuid.empty());
    const auto again = read_node_gpus(write_node_gpus(*gpus));
    FUZZ_CHECK(again && again->gpus.size() == gpus->gpus.size());
    FUZZ_CHECK(write_node_gpus(*again) == write_node_gpus(*gpus));
    return 0;
}
