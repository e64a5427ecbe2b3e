// The key file of controller and agent (config row allocation_key_file).
#pragma once

#include <optional>
#include <string>

#include "wire/allocation_seal.hpp"

namespace tessera {

// Nothing, and a warning in the log, when `path` is empty. Errors name the row and the file.
Result<std::optional<AllocationSeal>> load_seal(const std::string& path);
// The same errors, for --check-config.
Result<> check_seal(const std::string& path);

}  // namespace tessera
