// JSON text as block-style YAML, for -o yaml.
#pragma once

#include <string>

namespace tessera {

// `json` is well-formed text that Tessera wrote. Strings are quoted, so that they stay strings.
std::string yaml_of_json(const std::string& json);

}  // namespace tessera
