// Reads files in a folder that other programs write to, without following their symbolic links.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.hpp"

namespace tessera {

// The text of a regular file. No part of `path` (absolute) may be a symbolic link. Errors name the
// path and the reason: not_found; invalid_argument for a link, for anything but a regular file, and
// for more than `most` bytes; unavailable otherwise.
Result<std::string> read_plain_file(const std::string& path, std::size_t most);

}  // namespace tessera
