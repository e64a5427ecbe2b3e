// Whether the runtime gave a container what the agent told it to: versions that drop CDI devices,
// or have CDI switched off, start the container all the same.
#pragma once

#include <span>

#include "base/result.hpp"
#include "domain/allocation/allocation.hpp"
#include "domain/cluster/node.hpp"
#include "ports/cdi_store.hpp"
#include "ports/container_runtime.hpp"

namespace tessera {

// True when the container runs with exactly what this allocation hands over. The pod's own
// environment may name our variables, so each must appear exactly once and with our value. If the
// pod was resized, the memory limit may be any earlier one, because the environment is from the
// container's start.
bool was_injected(const RuntimeContainer& container, const Allocation& allocation,
                  std::span<const Gpu> gpus, bool is_resized);

// conflict names a device or mount of the GPUs' CDI devices that the container lacks. A CDI device
// without device nodes and mounts of its own cannot be checked.
Result<> check_devices(const RuntimeContainer& container, const ContainerAllocation& share,
                       std::span<const Gpu> gpus, CdiStore& cdi);

}  // namespace tessera
