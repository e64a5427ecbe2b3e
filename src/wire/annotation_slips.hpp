// Annotations under tessera.dev/ that nobody reads: slips of the pod's user, who would wait for
// their effect in vain. They refuse nothing: other tools may write there too.
#pragma once

#include <string>
#include <vector>

#include "wire/json.hpp"

namespace tessera {

// A sentence for each, in the order of the object: which one, and which was meant or are known.
// Of very many the first kMostSlips.
inline constexpr std::size_t kMostSlips = 4;
std::vector<std::string> annotation_slips(JsonValue annotations);

}  // namespace tessera
