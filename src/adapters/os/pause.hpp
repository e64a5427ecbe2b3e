// A sleep that a stop request ends.
#pragma once

#include <chrono>
#include <stop_token>

namespace tessera {

// Returns after `duration`, or at once if `stop` is requested.
void pause_for(std::chrono::milliseconds duration, const std::stop_token& stop);

}  // namespace tessera
