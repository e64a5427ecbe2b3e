// What is said where nobody knows by which policy the controller places pods.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

// A sentence without a full stop.
std::string assumed_policy_text(std::string_view assumed);

}  // namespace tessera
