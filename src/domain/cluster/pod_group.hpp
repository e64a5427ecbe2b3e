// A PodGroup of Kubernetes' own workload API (scheduling.k8s.io/v1alpha2).
#pragma once

#include "domain/cluster/gang_index.hpp"

namespace tessera {

struct PodGroup {
    GangId id;
    // So many of its pods are placed together; 0: each for itself (its policy is "basic").
    int min_count = 0;

    friend bool operator==(const PodGroup&, const PodGroup&) = default;
};

}  // namespace tessera
