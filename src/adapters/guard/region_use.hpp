// What the processes of a container use of a GPU, by the accounts of its region.
#pragma once

#include "adapters/guard/open_region.hpp"
#include "domain/usage/share_use.hpp"

namespace tessera {

// `gpu` is an index of the region's limits. The pod, the container and the arbiter's times are left
// empty. `is_damaged` if the accounts cannot be read.
ShareUse read_use(const OpenRegion& region, int gpu);

// The memory that the accounts charge to the container, at most its limit. It includes what died
// with a process, until another process of the container starts.
Bytes read_charged(const OpenRegion& region, int gpu);

// The time in which the container's processes had kernels or copies queued or running on the GPU,
// added up over the processes. It stands still while the GPU's time is not shared out.
GpuTime read_time_in_flight(const OpenRegion& region, int gpu);

}  // namespace tessera
