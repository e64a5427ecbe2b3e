// What a process's container may still use of a card by now, between two words of the arbiter, and
// after the last one. All functions want begin() to have succeeded (process/process.hpp).
#pragma once

#include "guard/region/grant.hpp"

namespace tessera::guard {

// No word of the arbiter for so long that nobody knows what the container's others had since: each
// process counts for itself, and has a balance of its own.
bool is_late(const Granted& granted, std::int64_t now);
// At which the balance grows. Any thread, without the mutex of the card's timing().
Millionths rate_of(int card, const Granted& granted, std::int64_t now);
// What it is now, if the neighbours do as they did in the last tick; granted.rate is rate_of().
// Wants the mutex of the card's timing().
std::int64_t balance_ns(int card, WorkKind kind, const Granted& granted, std::int64_t now);

}  // namespace tessera::guard
