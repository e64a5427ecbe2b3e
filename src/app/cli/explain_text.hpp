// What `tessera explain` shows of a pod's placement.
#pragma once

#include <string>

#include "app/scheduler/explain.hpp"

namespace tessera {

// The nodes where it fits, the best first, at most `most` of them (0: all); then the reasons of the
// others, each with its nodes.
std::string explain_text(const PodStory& story, std::size_t most);
// All of it, with "version": 1.
std::string explain_json(const PodStory& story);

}  // namespace tessera
