// The name of an object of the API server in a namespace, as the configuration writes it.
#pragma once

#include <string>

#include "base/result.hpp"

namespace tessera {

// Both empty: none.
struct ObjectName {
    std::string ns;
    std::string name;
};
// Parses an empty text or NAMESPACE/NAME. The error begins with the name of the row.
Result<ObjectName> read_object_name(const std::string& row, const std::string& text);

}  // namespace tessera
