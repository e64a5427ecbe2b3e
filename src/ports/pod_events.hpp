// Telling a pod's user what happened to it (kubectl describe pod).
#pragma once

#include "base/result.hpp"
#include "domain/events/pod_event.hpp"

namespace tessera {

// Any thread.
class PodEvents {
  public:
    virtual ~PodEvents() = default;

    // Once per call. not_found where the pod's namespace is gone; unavailable: the answer is
    // unknown, and the event may be there.
    virtual Result<> tell(const PodEvent& event) = 0;
};

}  // namespace tessera
