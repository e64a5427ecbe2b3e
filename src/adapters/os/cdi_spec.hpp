// A CDI specification of a vendor, YAML or JSON (container-device-interface, SPEC.md 1.1.0), as far
// as Tessera repeats it. The text is foreign: whatever it holds, reading it ends in a value or an
// error.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tessera {

using CdiVersion = std::array<int, 3>;

struct CdiSpecDevice {
    std::string name;
    nlohmann::json edits;  // containerEdits: an object, or null where it has none
};

struct CdiSpec {
    CdiVersion version{};  // zeros where it names none
    std::string kind;
    nlohmann::json edits;  // of every device; as above
    std::vector<CdiSpecDevice> devices;
};

// invalid_argument, with the reason on one line, where it is no specification.
Result<CdiSpec> read_cdi_spec(const std::string& text);

// Adds `more` to `edits`, both containerEdits. Lists grow; of anything else the last one counts, as
// in the runtime.
void merge_cdi_edits(nlohmann::json& edits, const nlohmann::json& more);

// The values of `field` in each entry of the list `list` of containerEdits: the paths of its
// deviceNodes, say. Entries of another form are left out.
std::vector<std::string> cdi_edit_fields(const nlohmann::json& edits, std::string_view list,
                                         std::string_view field);

}  // namespace tessera
