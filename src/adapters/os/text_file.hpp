// Small files, read and written whole.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace tessera {

// Of a file that is read whole; more is no text, or a device without an end.
inline constexpr std::size_t kMostTextBytes = std::size_t{1} << 30;

// Errors name the path and the reason: not_found when there is no such file, invalid_argument for
// one larger than kMostTextBytes, unavailable for whatever else keeps it from being read, a folder
// of that name among it.
Result<std::string> read_text_file(const std::string& path);
// The same with another limit.
Result<std::string> read_text_file_up_to(const std::string& path, std::size_t most);

// The rest of an open file; `path` is for the error alone. Errors as above.
Result<std::string> read_to_end(int fd, const std::string& path, std::size_t most);

// Whole or not at all, readable by everyone, and always as a new file: who has the old one open or
// mapped keeps it. It is on the disk when this returns, so that a loss of power leaves the old text
// or the new. It is written beside it under a name of its own, NAME.XXXXXX, which stays where
// the process ends meanwhile. An error names the path and the reason.
Result<> write_text_file(const std::string& path, const std::string& text);

// Whether write_text_file() could begin, for who has much to do before. Leaves what is there as it
// is. An error names the path and the reason.
Result<> check_writable(const std::string& path);

// Whether both are there and the same file, whatever its names; a device or a pipe is none.
bool is_same_file(const std::string& one, const std::string& other);

// What stands in a folder, in no order, as far as it can be read.
std::vector<std::filesystem::path> paths_in(const std::filesystem::path& folder);

// The files of a folder, and as "NAME/FILE" those of its folders; none where it cannot be read.
std::vector<std::string> files_in(const std::string& folder);

}  // namespace tessera
