// Reads and writes small files as a whole.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace tessera {

// The limit for a file that is read as a whole; a larger one is no text, or a device without an
// end.
inline constexpr std::size_t kMostTextBytes = std::size_t{1} << 30;

// Errors name the path and the reason: not_found if there is no such file; invalid_argument if it
// is larger than kMostTextBytes; unavailable for any other reason, for example a folder of that
// name.
Result<std::string> read_text_file(const std::string& path);
// The same with another limit.
Result<std::string> read_text_file_up_to(const std::string& path, std::size_t most);

// Reads the rest of an open file; `path` is for errors only. Errors as above.
Result<std::string> read_to_end(int fd, const std::string& path, std::size_t most);

// Writes atomically: readable by everyone, and always as a new file. A program that has the old
// file open or mapped keeps it. The text is on the disk when this returns: after a loss of power
// the file has the old text or the new one. The temporary file is beside it, NAME.XXXXXX, and stays
// if the process dies meanwhile. An error names the path and the reason.
Result<> write_text_file(const std::string& path, const std::string& text);

// Whether write_text_file() could begin, for callers that have much to do before they write.
// Changes nothing. invalid_argument names the path, the reason and the fix.
Result<> check_writable(const std::string& path);

// Whether both paths exist and are the same file, possibly by different names. Never true for a
// device or a pipe.
bool is_same_file(const std::string& one, const std::string& other);

// The paths in a folder, in no order; what cannot be read is left out.
std::vector<std::filesystem::path> paths_in(const std::filesystem::path& folder);

// The files of a folder, and as "NAME/FILE" those of its folders; empty if it cannot be read.
std::vector<std::string> files_in(const std::string& folder);

}  // namespace tessera
