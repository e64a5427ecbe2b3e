// What the arbiter reads of a container: through a descriptor, for a file that tenants may truncate
// is not to be mapped.
#pragma once

#include "guard/arbiter/arbiter.hpp"

namespace tessera::guard {

// Adds what the container's processes say of their time on a card. Processes that are dead have no
// work in flight, and do not wait, whatever they left. False where the file is not whole.
bool read_times(int accounts_fd, int card, std::int64_t now, ContainerReading& reading);

}  // namespace tessera::guard
