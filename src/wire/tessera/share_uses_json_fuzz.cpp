#include "testing/fuzz/fuzz.hpp"
#include "wire/tessera/share_uses_json.hpp"

// Whatever can be read has amounts that can be shown, and survives write and read.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto uses = read_share_uses(fuzz_text(data, size));
    if (!uses) return 0;
    for (const ShareUse& use : uses->shares)
        FUZZ_CHECK(use.used >= Bytes{} && !use.gpu.empty() && !use.container.empty());
    const auto again = read_share_uses(write_share_uses(*uses));
    FUZZ_CHECK(again && *again == *uses);
    return 0;
}
