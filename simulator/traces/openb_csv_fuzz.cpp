#include "domain/placement/engine/node_load.hpp"
#include "simulator/traces/openb_csv.hpp"
#include "testing/fuzz/fuzz.hpp"

// Whatever can be read is within the engine's limits; an error names the place.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    constexpr std::size_t kRows = 4;
    const std::string_view text = fuzz_text(data, size);
    if (const auto nodes = read_openb_nodes(text)) {
        for (const OpenbNode& node : *nodes)
            FUZZ_CHECK(node.cpu_milli >= 0 && node.gpus >= 0 && node.gpus <= kMaxGpus);
    } else {
        FUZZ_CHECK(!nodes.error().text.empty());
    }
    if (const auto pods = read_openb_pods(text)) {
        for (const OpenbPod& pod : *pods) {
            FUZZ_CHECK(pod.milli >= 0 && pod.milli <= kMilliPerGpu);
            FUZZ_CHECK((pod.milli == 0) == (pod.gpus == 0));
        }
    } else {
        FUZZ_CHECK(!pods.error().text.empty());
    }
    if (const auto arrivals = read_arrivals(text, kRows, kRows)) {
        FUZZ_CHECK(arrivals->nodes.size() <= kRows);
        for (const std::uint32_t row : arrivals->pods)
            FUZZ_CHECK(row < kRows);
    }
    return 0;
}
