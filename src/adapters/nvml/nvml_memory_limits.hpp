// The CgroupMemoryLimits port over NVML, for drivers from r615 on.
// Source: NVIDIA, "MPS v3 Memory Partitioning", and the NVML API reference.
#pragma once

#include <memory>
#include <string>

#include "ports/shares/cgroup_memory_limits.hpp"

namespace tessera {

// cgroup_root: the folder where the cgroups are mounted, such as /sys/fs/cgroup. The rest as
// nvml_compute_modes().
std::unique_ptr<CgroupMemoryLimits> nvml_memory_limits(std::string driver_root, std::string fix,
                                                       std::string cgroup_root);

}  // namespace tessera
