#include "testing/fuzz/fuzz.hpp"
#include "wire/snapshot_json.hpp"

// What reads names nodes and cards that are there, and comes back from its own text; an error says
// where.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto snapshot = read_snapshot(fuzz_text(data, size));
    if (!snapshot) {
        FUZZ_CHECK(!snapshot.error().text.empty());
        return 0;
    }
    for (const SnapshotPod& pod : snapshot->pods)
        FUZZ_CHECK(!pod.asks.empty() && pod.node.empty() == pod.holds.empty());
    const auto again = read_snapshot(write_snapshot(*snapshot));
    FUZZ_CHECK(again && *again == *snapshot);
    return 0;
}
