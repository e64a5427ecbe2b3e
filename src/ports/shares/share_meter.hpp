// Measures how containers use their GPU shares. Metrics, events, the scheduler's view of memory
// above a lowered limit, and the detection of bypasses are based on it.
#pragma once

#include <set>
#include <vector>

#include "base/ids.hpp"
#include "domain/usage/share_use.hpp"

namespace tessera {

struct ShareUsage {
    // One entry per container and GPU. What an enforcer does not limit may be left empty.
    std::vector<ShareUse> uses;
    // The pods whose containers are enforced by an agent of another release; not among `uses`,
    // because their use is not known.
    std::set<PodUid> unreadable;
};

// Any thread may call.
class ShareMeter {
  public:
    virtual ~ShareMeter() = default;

    // The use of all enforced containers. Reads the accounts of all of them.
    [[nodiscard]] virtual ShareUsage usage() const = 0;
};

}  // namespace tessera
