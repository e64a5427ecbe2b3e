// One tick of a card's arbiter: reads what its containers did, and writes what each may do.
#pragma once

#include "guard/arbiter/arbiter.hpp"

namespace tessera::guard {

// A container with a share of the card.
struct Sharer {
    Arbiter::Id id;
    Limits* limits;
    int accounts_fd;
    int card;  // in the limits
};

// Accounts that are not whole are taken as doing nothing: the container's own processes are stopped
// by it.
void tick(Arbiter& arbiter, const std::vector<Sharer>& sharers);

}  // namespace tessera::guard
