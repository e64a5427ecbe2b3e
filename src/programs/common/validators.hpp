// What the text of an option may be.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace tessera {

// For an option's transform(): a number from `least` to `most` in decimal digits, blanks at
// its ends left out, else an error that says so. CLI11 alone reads "010" as 8, and -1 as the
// largest number that there is.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);

// For an option of type double: within these; CLI11's own Range takes "nan".
CLI::Validator between(double least, double most);

// For an option that names a file: not an unset variable of the shell.
CLI::Validator file_name();

}  // namespace tessera
