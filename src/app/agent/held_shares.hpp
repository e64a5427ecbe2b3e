// What a container is held to, of what it was given.
#pragma once

#include <algorithm>
#include <vector>

#include "domain/allocation/allocation.hpp"
#include "ports/share_holder.hpp"

namespace tessera {

inline std::vector<HeldShare> held_shares(const ContainerAllocation& container) {
    std::vector<HeldShare> shares;
    shares.reserve(container.gpus.size());
    for (const GpuShare& share : container.gpus)
        shares.push_back({share.uuid, share.memory, share.cores, share.ceiling});
    return shares;
}

}  // namespace tessera
