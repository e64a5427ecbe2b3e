// Keeps on the node the newest allocation of each pod that was resized. A restarted container gets
// it, even if the API server cannot be reached. It is kept until Enforcer::cleanup of the pod.
#pragma once

#include <optional>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "domain/allocation/allocation.hpp"

namespace tessera {

// Any thread may call; one thread writes.
class ResizedAllocations {
  public:
    virtual ~ResizedAllocations() = default;

    // Replaces what was kept for the pod. unavailable: nothing was changed.
    virtual Result<> keep(const Allocation& allocation) = 0;
    // Nothing if none was kept. corrupt: it cannot be read. A container must not start as if there
    // were none; use the allocation that the API server shows.
    [[nodiscard]] virtual Result<std::optional<Allocation>> kept(const PodUid& pod) const = 0;
};

}  // namespace tessera
