// Measures how containers use their GPU shares. Metrics, events, the scheduler's view of memory
// above a lowered limit, and the detection of bypasses are based on it.
#pragma once

#include <set>
#include <vector>

#include "base/ids.hpp"
#include "domain/usage/share_use.hpp"

namespace tessera {

// Any thread may call.
class ShareMeter {
  public:
    virtual ~ShareMeter() = default;

    // The use of all enforced containers: one entry per container and GPU.
    [[nodiscard]] virtual std::vector<ShareUse> uses() const = 0;
    // The pods whose containers are enforced by an agent of another release. uses() does not
    // include them, and their use is not known.
    [[nodiscard]] virtual std::set<PodUid> unreadable() const = 0;
};

}  // namespace tessera
