// Finds annotations and labels of a pod under tessera.dev/ that no part of Tessera reads, such as
// misspelled ones, whose users would wait for an effect. The pod is not refused, because other
// tools may write such annotations.
#pragma once

#include <string>
#include <vector>

#include "wire/text/json.hpp"

namespace tessera {

// A sentence for each, annotations first, in the order of the objects: its name, and either the one
// that was probably meant or all known ones. Limited to the first kMostUnknownAnnotations.
inline constexpr std::size_t kMostUnknownAnnotations = 4;
std::vector<std::string> unknown_annotations(JsonValue annotations, JsonValue labels);

}  // namespace tessera
