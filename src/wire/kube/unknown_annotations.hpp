// Finds annotations and labels of a pod under tessera.dev/ that have no effect, because no part of
// Tessera reads them (such as misspelled ones) or because of their value. The pod is not refused,
// because other tools may write such annotations.
#pragma once

#include <string>
#include <vector>

#include "wire/text/json.hpp"

namespace tessera {

// A sentence for each, annotations first, in the order of the objects: its name, and the one that
// was probably meant, all known ones, or the values that it may have. Limited to the first
// kMostUnknownAnnotations.
inline constexpr std::size_t kMostUnknownAnnotations = 4;
std::vector<std::string> unknown_annotations(JsonValue annotations, JsonValue labels);

}  // namespace tessera
