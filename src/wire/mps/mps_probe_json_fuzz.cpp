#include "testing/fuzz/fuzz.hpp"
#include "wire/mps/mps_probe_json.hpp"

// What a container printed can be judged, whatever it is.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    if (const auto probe = read_mps_probe(fuzz_text(data, size))) {
        const MpsGrant grant{.threads = {25}, .memory = gibibytes(3)};
        FUZZ_CHECK(verify_mps(grant, 132, *probe).size() == (probe->filled ? 4U : 3U));
    }
    return 0;
}
