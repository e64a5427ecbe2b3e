#include "testing/fuzz/fuzz.hpp"
#include "wire/node/kubelet_checkpoint.hpp"

// Every entry that can be read names its pod and container.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto entries = read_kubelet_checkpoint(fuzz_text(data, size));
    if (!entries) return 0;
    for (const CheckpointEntry& entry : *entries)
        FUZZ_CHECK(!entry.pod.empty() && !entry.container.empty());
    return 0;
}
