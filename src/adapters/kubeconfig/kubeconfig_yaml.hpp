// Values of a kubeconfig's YAML.
#pragma once

#include <yaml-cpp/yaml.h>

#include <string>

namespace tessera {

// The text of a member; empty if it is missing or no scalar.
inline std::string text_of(const YAML::Node& node, const char* key) {
    const YAML::Node value = node[key];
    return value && value.IsScalar() ? value.Scalar() : std::string();
}

}  // namespace tessera
