// The output of `tessera defrag` for a plan.
#pragma once

#include <string>

#include "app/cli/defrag.hpp"

namespace tessera {

// One line per move, then the gain; or the reason why there is no plan.
std::string defrag_text(const DefragRequest& request, const DefragAnswer& answer);
// The same as JSON, in bytes, with "version": 1.
std::string defrag_json(const DefragRequest& request, const DefragAnswer& answer);

}  // namespace tessera
