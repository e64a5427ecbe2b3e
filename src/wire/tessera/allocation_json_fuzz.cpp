#include "testing/fuzz/fuzz.hpp"
#include "wire/tessera/allocation_json.hpp"

// An allocation that can be read is complete, adds up without overflow, and survives write and
// read.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto allocation = read_allocation(fuzz_text(data, size));
    if (!allocation) return 0;
    FUZZ_CHECK(!allocation->containers.empty());
    for (const GpuAllocation& on_gpu : allocated_by_gpu(allocation->containers))
        FUZZ_CHECK(on_gpu.memory >= Bytes{} && on_gpu.cores.value >= 0);
    const auto again = read_allocation(write_allocation(*allocation));
    FUZZ_CHECK(again && *again == *allocation);
    return 0;
}
