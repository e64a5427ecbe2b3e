// The accounts as one sees them who is no process of theirs: he takes no seat and writes nothing,
// and the file may be read-only for him.
#pragma once

#include "guard/region/layout.hpp"

namespace tessera::guard {

// Whether a file begins as accounts of this layout do. It is read, not mapped: tenants write it.
bool begins_as_accounts(int accounts_fd);

// A process of the container that lives, and what it holds of a card.
struct Holder {
    std::int32_t pid;  // as it sees itself
    Granules granules;
};

// Finds those that hold something of the card, and what of it descriptors alone hold whose memory's
// makers are dead. How many; -1 where the accounts cannot be read. What the dead hold, until a
// neighbour takes it back, is in neither, nor what only descriptors held that are closed now.
int find_holders(const char* accounts_path, int card, Holder (&holders)[kMaxProcesses],
                 Granules& nobodys);

}  // namespace tessera::guard
