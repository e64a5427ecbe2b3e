// The output of `tessera explain` for a pod.
#pragma once

#include <string>

#include "app/explain/explain.hpp"

namespace tessera {

// The feasible nodes, the best first, at most `most` of them (0: all); then the reasons of the
// other nodes, each with its nodes.
std::string explain_text(const PodExplanation& explanation, std::size_t most);
// Everything as JSON, with "version": 1.
std::string explain_json(const PodExplanation& explanation);

}  // namespace tessera
