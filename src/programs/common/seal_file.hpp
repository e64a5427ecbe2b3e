// Reading the key file of controller and agent (config row allocation_key_file).
#pragma once

#include <optional>
#include <string>

#include "wire/tessera/allocation_seal.hpp"

namespace tessera {

// If `path` is empty, returns nothing and logs a warning. Errors name the row and the file.
Result<std::optional<AllocationSeal>> load_seal(const std::string& path);
// Returns the same errors, for --check-config.
Result<> check_seal(const std::string& path);

}  // namespace tessera
