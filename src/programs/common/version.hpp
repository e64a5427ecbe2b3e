// What a program prints for --version.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

// "PROGRAM VERSION (COMMIT)". The commit is 12 hexadecimal digits, with "-changed" if the program
// was built from changed files; or "unknown" if it was built without git.
std::string version_text(std::string_view program);

}  // namespace tessera
