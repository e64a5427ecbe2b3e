// Tells a pod's user what he cannot see from within of a container of his: that it has reached its
// limit of GPU memory (what the program says of it is often no more than "out of memory", as if the
// card were full), or that it broke its accounts.
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

inline constexpr std::chrono::seconds kShareLook{2};

// An event for each container that was refused memory: once in its pod's life and again after each
// growth of its limit, unless the agent is killed between telling and noting it. One for damaged
// accounts per agent. Of one thread.
class ShareEvents {
  public:
    // Both outlive it.
    ShareEvents(ShareHolder& shares, PodEvents& events) : shares_(shares), events_(events) {}

    // Where the API server is away the next look tries again. What it refuses (a namespace that is
    // being deleted) is left to the next agent.
    void look();
    // Every kShareLook, until `stop`.
    void run(Clock& clock, const std::stop_token& stop);

  private:
    enum class Word { at_limit, damaged };
    using Key = std::pair<PodUid, std::string>;
    struct Container;
    // What tell() did.
    enum class Telling { told, refused, away };

    void look_at(const Key& key, const Container& container);
    Telling tell(const PodEvent& event);

    ShareHolder& shares_;
    PodEvents& events_;
    bool is_away_ = false;                  // in this look
    std::set<std::pair<Key, Word>> done_;   // of containers that are held
    std::set<std::pair<Key, Word>> still_;  // done_, as this look finds it
};

}  // namespace tessera
