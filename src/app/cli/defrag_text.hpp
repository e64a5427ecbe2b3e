// What `tessera defrag` shows of a plan.
#pragma once

#include <string>

#include "app/cli/defrag.hpp"

namespace tessera {

// A line per move, then the gain; or why there is no plan.
std::string defrag_text(const DefragAsk& ask, const DefragAnswer& answer);
// The same in bytes, with "version": 1.
std::string defrag_json(const DefragAsk& ask, const DefragAnswer& answer);

}  // namespace tessera
