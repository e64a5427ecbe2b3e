// `tessera top`.
#pragma once

#include <chrono>
#include <string>

#include "programs/usage_reader.hpp"

namespace tessera {

// Prints the cards, and below them what containers use of their shares, as the agents in namespace
// `space` say at the end of the `watched` time. Nodes whose agents do not say it are named on
// stderr. Returns the exit status.
int run_top(const UsageOptions& options, const std::string& space, std::chrono::seconds watched);

}  // namespace tessera
