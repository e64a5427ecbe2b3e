// What the driver is to limit the memory of a container to, on each of its GPUs.
#pragma once

#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/quantity.hpp"

namespace tessera {

struct GpuMemoryLimit {
    GpuUuid gpu;
    // All that the container's processes take there, with their contexts. At least one byte.
    Bytes memory;

    friend bool operator==(const GpuMemoryLimit&, const GpuMemoryLimit&) = default;
};

struct ContainerMemoryLimits {
    std::string cgroup;  // the absolute path of its folder on the node
    std::vector<GpuMemoryLimit> limits;

    friend bool operator==(const ContainerMemoryLimits&, const ContainerMemoryLimits&) = default;
};

}  // namespace tessera
