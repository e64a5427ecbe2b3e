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
    for (const GpuShare& share : container.gpus) {
        shares.push_back({.gpu = share.uuid,
                          .memory = share.memory,
                          .cores = share.cores,
                          .cores_limit = share.cores_limit,
                          .mps = share.mps});
    }
    return shares;
}

}  // namespace tessera
