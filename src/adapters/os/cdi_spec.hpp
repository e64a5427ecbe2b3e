// A vendor's CDI specification, YAML or JSON (container-device-interface, SPEC.md 1.1.0): the parts
// that Tessera copies. The text is untrusted: for any text, reading it returns a value or an error.
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
    nlohmann::json edits;  // containerEdits: an object, or null if it has none
};

struct CdiSpec {
    CdiVersion version{};  // zeros if it names none
    std::string kind;
    nlohmann::json edits;  // for every device; as above
    std::vector<CdiSpecDevice> devices;
};

// Errors: invalid_argument, with the reason on one line, if the text is no specification.
Result<CdiSpec> read_cdi_spec(const std::string& text);

// Adds `more` to `edits`, both containerEdits. Lists are joined; for any other field the last value
// wins, as in the runtime.
void merge_cdi_edits(nlohmann::json& edits, const nlohmann::json& more);

// The values of `field` in each entry of the list `list` of containerEdits, such as the paths of
// its deviceNodes. Entries of another form are left out.
std::vector<std::string> cdi_edit_fields(const nlohmann::json& edits, std::string_view list,
                                         std::string_view field);

}  // namespace tessera
