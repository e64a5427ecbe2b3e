// Changes the limits of running containers, and keeps across restarts of the agent what was
// changed. Any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "domain/allocation/allocation.hpp"
#include "ports/enforcer.hpp"

namespace tessera {

class LiveLimits {
  public:
    virtual ~LiveLimits() = default;

    // Gives the processes of an enforced container (Enforcer::hold) these shares from now on. They
    // keep memory that is above a new limit. False if they have these shares already, or if nothing
    // is enforced because the container has not started.
    virtual Result<bool> change(const PodUid& pod, const std::string& container,
                                const std::vector<EnforcedShare>& shares) = 0;

    // The newest allocation of a pod that was resized. The node keeps it until Enforcer::forget, so
    // that a restarted container gets its last allocation even if the API server cannot be reached.
    virtual Result<> keep(const Allocation& allocation) = 0;
    // Nothing if none was kept. corrupt: it cannot be read. A container must not start as if there
    // were none; use the allocation that the API server shows.
    [[nodiscard]] virtual Result<std::optional<Allocation>> kept(const PodUid& pod) const = 0;
};

}  // namespace tessera
