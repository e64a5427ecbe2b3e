// How much two words differ, to find the one that a user meant.
#pragma once

#include <cstddef>
#include <string_view>

namespace tessera {

// The number of letters to add, remove or change (Levenshtein distance).
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace tessera
