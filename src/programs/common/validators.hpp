// Validators for the values of options.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace tessera {

// For an option's transform(): a number from `least` to `most` in decimal digits, with blanks at
// its ends allowed; otherwise an error that states the range. CLI11's own conversion reads "010" as
// 8, and -1 as the largest unsigned number.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);

// For an option of type double: a number in this range. CLI11's own Range accepts "nan".
CLI::Validator between(double least, double most);

// For an option that names a file: refuses an empty text, such as that of an unset shell variable.
CLI::Validator file_name();

}  // namespace tessera
