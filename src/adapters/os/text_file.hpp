// Small files, read whole.
#pragma once

#include <string>

#include "base/result.hpp"

namespace tessera {

// Errors name the path and the reason: not_found when there is no such file, unavailable for
// whatever else keeps it from being read, a folder of that name among it.
Result<std::string> read_text_file(const std::string& path);

}  // namespace tessera
