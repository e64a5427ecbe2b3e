// Evicts pods so that another pod fits, by the rules of the API server. Any thread may call; each
// write ends within kTakes. Errors: not_found, the pod is gone, and another pod may have its name;
// permission_denied; conflict, another write came between; unavailable, the outcome is unknown, and
// the write may have happened.
#pragma once

#include "base/ids.hpp"
#include "base/result.hpp"
#include "ports/kube/nominations.hpp"

namespace tessera {

class Evictions : public Nominations {
  public:
    // Whether evict() would succeed now; evicts nothing. False if a PodDisruptionBudget or an
    // admission webhook forbids it.
    virtual Result<bool> may_evict(const PodUid& uid, const PodName& pod) = 0;
    // Evicts the pod, with its grace period. False as above: the pod keeps running.
    virtual Result<bool> evict(const PodUid& uid, const PodName& pod) = 0;
    // Marks an evicted pod: its status and an event name the preemptor. These are two writes.
    // kube-scheduler keeps the preemptor's nomination for the node as long as a pod there
    // terminates for that reason.
    virtual Result<> mark_preempted(const PodUid& uid, const PodName& pod,
                                    const PodName& preemptor) = 0;
    // Records in the API that GPUs of the node are kept for a pending pod.
    virtual Result<> nominate(const PodUid& uid, const PodName& pod, const NodeName& node) = 0;
};

}  // namespace tessera
