// Nominates pending pods to nodes (status.nominatedNodeName). Any thread may call; a write ends
// within kTakes. Errors: not_found, the pod is gone, and another pod may have its name;
// permission_denied; conflict, another write came between; invalid_argument, the pod is bound
// already; unavailable, the outcome is unknown, and the write may have happened.
#pragma once

#include <chrono>

#include "base/ids.hpp"
#include "base/result.hpp"

namespace tessera {

class Nominations {
  public:
    static constexpr std::chrono::milliseconds kTakes{5'000};

    virtual ~Nominations() = default;

    // Records in the API that the node is reserved for a pending pod. An empty name removes the
    // nomination.
    virtual Result<> nominate(const PodUid& uid, const PodName& pod, const NodeName& node) = 0;
};

}  // namespace tessera
