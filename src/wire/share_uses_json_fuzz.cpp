#include "testing/fuzz/fuzz.hpp"
#include "wire/share_uses_json.hpp"

// What reads has amounts that can be shown, and comes back from its own text.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto uses = read_share_uses(fuzz_text(data, size));
    if (!uses) return 0;
    for (const ShareUse& use : uses->shares)
        FUZZ_CHECK(use.held >= Bytes{} && !use.card.empty() && !use.container.empty());
    const auto again = read_share_uses(write_share_uses(*uses));
    FUZZ_CHECK(again && *again == *uses);
    return 0;
}
