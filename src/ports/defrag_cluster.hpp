// What `tessera defrag` reads and does, with the rights of its user. One thread; each call ends by
// its own deadline.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "domain/defrag/snapshot.hpp"

namespace tessera {

class DefragCluster {
  public:
    virtual ~DefragCluster() = default;

    // From the API server itself, no cache. Errors: permission_denied with the right that lacks,
    // unavailable. Budgets that cannot be listed are an error: without them nobody may be moved. So
    // are Jobs where a pod of one may be moved.
    virtual Result<defrag::Snapshot> read() = 0;
    // All pods of a namespace.
    virtual Result<std::vector<defrag::PodState>> pods_of(const std::string& space) = 0;
    // Asks the pod of that uid to end in its own time, through the eviction API. conflict: somebody
    // forbids it, and the text says who; not_found: it is gone, or a namesake is there;
    // unavailable: the answer is unknown, and it may end.
    virtual Result<> evict(const PodUid& uid, const PodName& pod) = 0;
};

}  // namespace tessera
