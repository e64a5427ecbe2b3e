#include "base/label_value.hpp"
#include "testing/fuzz/fuzz.hpp"
#include "wire/tessera/node_configs_json.hpp"

// Any text can be refused; each name that is read can be a label's value.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto configs = read_node_configs(fuzz_text(data, size));
    if (!configs) return 0;
    for (const auto& [name, values] : *configs)
        FUZZ_CHECK(is_label_value(name));
    return 0;
}
