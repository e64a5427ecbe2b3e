#include "adapters/os/cdi_spec.hpp"
#include "testing/fuzz/fuzz.hpp"

// For any vendor's file, what was read of it can be merged and written again.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto spec = read_cdi_spec(std::string(fuzz_text(data, size)));
    if (!spec) {
        FUZZ_CHECK(spec.error().text.find('\n') == std::string::npos);
        return 0;
    }
    nlohmann::json merged = {{"env", {"A=1"}}};
    merge_cdi_edits(merged, spec->edits);
    for (const CdiSpecDevice& device : spec->devices) {
        merge_cdi_edits(merged, device.edits);
        (void)cdi_edit_fields(device.edits, "deviceNodes", "path");
        (void)cdi_edit_fields(device.edits, "mounts", "containerPath");
    }
    FUZZ_CHECK(!merged.dump().empty());
    return 0;
}
