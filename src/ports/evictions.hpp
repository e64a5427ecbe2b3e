// Ending pods so that another has room, by the rules of the API server. Every call may be made by
// any thread; each write ends within kTakes. Errors: not_found, the pod is gone, and another may
// have its name; permission_denied, we may not; conflict, another write came between; unavailable,
// the answer is unknown, and the write may have happened.
#pragma once

#include <chrono>

#include "base/ids.hpp"
#include "base/result.hpp"

namespace tessera {

class Evictions {
  public:
    static constexpr std::chrono::milliseconds kTakes{5'000};

    virtual ~Evictions() = default;

    // Whether evict() would be carried out now; nothing ends. False where somebody forbids it: a
    // PodDisruptionBudget, an admission webhook.
    virtual Result<bool> may_evict(const PodUid& uid, const PodName& pod) = 0;
    // Asks the pod to end in its own time. False as above: it goes on.
    virtual Result<bool> evict(const PodUid& uid, const PodName& pod) = 0;
    // Of a pod that was evicted: for whom, in its status and its events; two writes. kube-scheduler
    // lets the nomination to the pod's node stand as long as a pod there ends for that reason.
    virtual Result<> mark_preempted(const PodUid& uid, const PodName& pod,
                                    const PodName& preemptor) = 0;
    // Says in the API that the node's room is kept for a pending pod (status.nominatedNodeName).
    // An empty name takes that back.
    virtual Result<> nominate(const PodUid& uid, const PodName& pod, const NodeName& node) = 0;
};

}  // namespace tessera
