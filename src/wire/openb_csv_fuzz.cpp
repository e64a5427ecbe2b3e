#include "domain/placement/fleet/node_load.hpp"
#include "testing/fuzz/fuzz.hpp"
#include "wire/openb_csv.hpp"

// What is read is within the engine's limits; an error says where.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    constexpr std::size_t kRows = 4;
    const std::string_view text = fuzz_text(data, size);
    if (const auto nodes = read_openb_nodes(text)) {
        for (const OpenbNode& node : *nodes)
            FUZZ_CHECK(node.cpu_milli >= 0 && node.cards >= 0 && node.cards <= kMaxCards);
    } else {
        FUZZ_CHECK(!nodes.error().text.empty());
    }
    if (const auto pods = read_openb_pods(text)) {
        for (const OpenbPod& pod : *pods) {
            FUZZ_CHECK(pod.milli >= 0 && pod.milli <= kMilliPerCard);
            FUZZ_CHECK((pod.milli == 0) == (pod.cards == 0));
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
