// The limits that are enforced for a container, from its allocation.
#pragma once

#include <algorithm>
#include <vector>

#include "domain/allocation/allocation.hpp"
#include "ports/enforcer.hpp"

namespace tessera {

inline std::vector<EnforcedShare> enforced_shares(const ContainerAllocation& container) {
    std::vector<EnforcedShare> shares;
    shares.reserve(container.gpus.size());
    for (const GpuShare& share : container.gpus)
        shares.push_back({share.uuid, share.memory, share.cores, share.cores_limit});
    return shares;
}

}  // namespace tessera
