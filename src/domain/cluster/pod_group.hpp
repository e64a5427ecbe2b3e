// A PodGroup of Kubernetes' workload API (scheduling.k8s.io/v1alpha2).
#pragma once

#include "domain/cluster/gang_index.hpp"

namespace tessera {

struct PodGroup {
    GangId id;
    // The number of its pods that are placed together. 0: each pod is placed alone (policy
    // "basic").
    int min_count = 0;

    friend bool operator==(const PodGroup&, const PodGroup&) = default;
};

}  // namespace tessera
