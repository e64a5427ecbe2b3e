// What `tessera defrag` reads and does, with the permissions of its user. Used by one thread; each
// call ends by its own deadline.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "domain/defrag/cluster_objects.hpp"

namespace tessera {

class DefragCluster {
  public:
    virtual ~DefragCluster() = default;

    // Reads from the API server itself, without a cache. Errors: permission_denied, with the
    // missing permission; unavailable. It is an error if PodDisruptionBudgets cannot be listed,
    // because no pod may be moved without them. It is also an error if Jobs cannot be listed and a
    // pod of a Job may be moved.
    virtual Result<defrag::ClusterObjects> read() = 0;
    // All pods of a namespace.
    virtual Result<std::vector<defrag::PodState>> pods_of(const std::string& ns) = 0;
    // Evicts the pod of that uid through the eviction API, with its grace period. conflict: an
    // object forbids the eviction, and the text names it. not_found: the pod is gone, or another
    // pod has its name. unavailable: the outcome is unknown, and the pod may be evicted.
    virtual Result<> evict(const PodUid& uid, const PodName& pod) = 0;
};

}  // namespace tessera
