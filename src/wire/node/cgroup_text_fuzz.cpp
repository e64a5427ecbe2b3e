#include "testing/fuzz/fuzz.hpp"
#include "wire/node/cgroup_text.hpp"

// A uid that is found is a valid uid and is part of the text.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const std::string_view text = fuzz_text(data, size);
    const auto pod = pod_of_cgroup(text);
    if (!pod) return 0;
    FUZZ_CHECK(pod->str().size() == 36);
    FUZZ_CHECK(text.find("pod" + pod->str().substr(0, 8)) != std::string_view::npos);
    return 0;
}
