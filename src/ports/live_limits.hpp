// Changing what containers that run are held to, and what of it outlives the agent. Any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "domain/allocation/allocation.hpp"
#include "ports/share_holder.hpp"

namespace tessera {

class LiveLimits {
  public:
    virtual ~LiveLimits() = default;

    // The processes of a container that is held (ShareHolder::hold) have these shares from now on;
    // what they have above a limit they keep. False where they have them already, or nothing is
    // held: it has not started.
    virtual Result<bool> change(const PodUid& pod, const std::string& container,
                                const std::vector<HeldShare>& shares) = 0;

    // The newest allocation of a pod that was resized: kept on the node until ShareHolder::forget,
    // so that a container which starts again gets what it last had, whoever can be asked then.
    virtual Result<> keep(const Allocation& allocation) = 0;
    // Nothing where none was kept. corrupt: it cannot be read, and no container is to start as if
    // there were none; what the API server shows takes its place.
    [[nodiscard]] virtual Result<std::optional<Allocation>> kept(const PodUid& pod) const = 0;
};

}  // namespace tessera
