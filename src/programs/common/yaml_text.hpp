// JSON text as block-style YAML, for -o yaml.
#pragma once

#include <string>

namespace tessera {

// `json` is our own, well-formed text. Strings stay strings: they are quoted.
std::string yaml_of_json(const std::string& json);

}  // namespace tessera
