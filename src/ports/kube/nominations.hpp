// Nominations of pending pods to nodes (status.nominatedNodeName). Any thread may call; a write
// ends within kTakes. Errors:
//   not_found          the pod is gone, and another pod may have its name
//   permission_denied
//   conflict           another write came between
//   invalid_argument   the pod is bound or nominated already, or a policy refuses the write
//   unavailable        the outcome is unknown: the write may have happened
#pragma once

#include <chrono>

#include "base/ids.hpp"
#include "base/result.hpp"

namespace tessera {

class Nominations {
  public:
    static constexpr std::chrono::milliseconds kTakes{5'000};

    virtual ~Nominations() = default;

    // Records in the API that the node was chosen for the pod ahead of its turn. Every replica
    // sees that (PodInfo::is_nominated_ahead). Replaces no nomination.
    virtual Result<> nominate_ahead(const PodUid& uid, const PodName& pod,
                                    const NodeName& node) = 0;
    // Removes the pod's nomination, also one of another program; invalid_argument if it names
    // another node.
    virtual Result<> withdraw(const PodUid& uid, const PodName& pod, const NodeName& node) = 0;
};

}  // namespace tessera
