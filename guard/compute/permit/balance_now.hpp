// What this process's container may still use of a GPU now, between two grants of the arbiter and
// after the last one. All functions require that begin() has succeeded (process/process.hpp).
#pragma once

#include "guard/region/grant.hpp"

namespace tessera::guard {

// The last grant is so old that the use by the container's other processes since then is unknown.
// Each process then counts for itself, and has a balance of its own.
bool is_late(const Granted& granted, std::int64_t now);
// The rate at which the balance grows. Any thread, without the mutex of the GPU's timing().
Millionths rate_of(int gpu, const Granted& granted, std::int64_t now);
// The balance now, if the neighbours do as they did in the last tick; granted.rate must be
// rate_of(). Requires the mutex of the GPU's timing().
std::int64_t balance_ns(int gpu, WorkKind kind, const Granted& granted, std::int64_t now);

}  // namespace tessera::guard
