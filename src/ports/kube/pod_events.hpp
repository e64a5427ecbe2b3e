// Events that tell a pod's user what happened to it (kubectl describe pod).
#pragma once

#include "base/result.hpp"
#include "domain/events/pod_event.hpp"

namespace tessera {

// Any thread.
class PodEvents {
  public:
    virtual ~PodEvents() = default;

    // Writes one event per call. not_found: the pod's namespace is gone. unavailable: the outcome
    // is unknown, and the event may exist.
    virtual Result<> tell(const PodEvent& event) = 0;
};

}  // namespace tessera
