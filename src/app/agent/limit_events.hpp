// Tells a pod's user when a container of his first reaches its limit of GPU memory: what the
// program says of it is often no more than "out of memory", as if the card were full.
#pragma once

#include <chrono>
#include <set>
#include <stop_token>
#include <string>
#include <utility>

#include "ports/clock.hpp"
#include "ports/pod_events.hpp"
#include "ports/share_holder.hpp"

namespace tessera {

inline constexpr std::chrono::seconds kLimitLook{2};

// An event for each container that was refused memory since it was first held, once in its pod's
// life, unless the agent is killed between telling and noting it. Of one thread.
class LimitEvents {
  public:
    // Both outlive it.
    LimitEvents(ShareHolder& shares, PodEvents& events) : shares_(shares), events_(events) {}

    // Where the API server is away the next look tries again. What it refuses (a namespace that is
    // being deleted) is left to the next agent.
    void look();
    // Every kLimitLook, until `stop`.
    void run(Clock& clock, const std::stop_token& stop);

  private:
    using Key = std::pair<PodUid, std::string>;

    ShareHolder& shares_;
    PodEvents& events_;
    std::set<Key> done_;  // of containers that are held
};

}  // namespace tessera
