// Ending pods so that another has room, by the rules of the API server. Every call may be made by
// any thread and ends by its own deadline. Errors: not_found, the pod is gone; conflict, another
// has its name; unavailable, its PodDisruptionBudget forbids it now, or the answer is unknown.
#pragma once

#include <chrono>

#include "base/ids.hpp"
#include "base/result.hpp"

namespace tessera {

class Evictions {
  public:
    // No call lasts longer.
    static constexpr std::chrono::milliseconds kTakes{5'000};

    virtual ~Evictions() = default;

    // Whether evict() would be carried out now. Nothing ends.
    virtual Result<> may_evict(const PodUid& uid, const PodName& pod) = 0;
    // Asks the pod to end in its own time, as a victim of preemption in favour of `preemptor`.
    virtual Result<> evict(const PodUid& uid, const PodName& pod, const PodName& preemptor) = 0;
    // Keeps the node's room for a pending pod (status.nominatedNodeName).
    virtual Result<> nominate(const PodUid& uid, const PodName& pod, const NodeName& node) = 0;
};

}  // namespace tessera
