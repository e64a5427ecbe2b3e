// Small files, read and written whole.
#pragma once

#include <string>

#include "base/result.hpp"

namespace tessera {

// Errors name the path and the reason: not_found when there is no such file, unavailable for
// whatever else keeps it from being read, a folder of that name among it.
Result<std::string> read_text_file(const std::string& path);

// Whole or not at all, readable by everyone, and always as a new file: who has the old one open or
// mapped keeps it. An error names the path and the reason.
Result<> write_text_file(const std::string& path, const std::string& text);

}  // namespace tessera
