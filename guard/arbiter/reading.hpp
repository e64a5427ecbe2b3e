// What the arbiter reads of a container: through a descriptor, for a file that tenants may truncate
// is not to be mapped.
#pragma once

#include <vector>

#include "guard/arbiter/arbiter.hpp"
#include "guard/region/look.hpp"

namespace tessera::guard {

// Adds what the container's processes say of their time on a card. Processes that are dead have no
// work in flight, and do not wait, whatever they left. False where the file is not whole.
bool read_times(int accounts_fd, int card, std::int64_t now, ContainerReading& reading);

// What a container holds of a card, and how often it was refused more. As above.
struct HeldReading {
    Granules held = 0;  // what died within it counts until a neighbour takes it back
    std::uint64_t refusals = 0;
};
bool read_held(int accounts_fd, int card, HeldReading& reading);

// The processes that live and hold something of a card. As above.
bool read_holders(int accounts_fd, int card, std::vector<Holder>& holders);

}  // namespace tessera::guard
