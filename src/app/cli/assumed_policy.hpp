// The warning of commands that could not read the controller's placement policy.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

// One sentence without a full stop.
std::string assumed_policy_text(std::string_view assumed);

}  // namespace tessera
