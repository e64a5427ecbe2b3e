// Tells a pod's user what he cannot see from within of a container of his: that it has reached its
// limit of GPU memory (what the program says of it is often no more than "out of memory", as if the
// card were full), or that it broke its accounts.
#pragma once

#include <chrono>
#include <set>
#include <stop_token>
#include <string>
#include <tuple>

#include "ports/clock.hpp"
#include "ports/pod_events.hpp"
#include "ports/share_holder.hpp"

namespace tessera {

inline constexpr std::chrono::seconds kShareLook{2};

// An event for each share of a card of which its container was refused memory: the first time, and
// the first time after its limit changed; one for damaged accounts, until a start of the container
// brings whole ones. Again where the agent is killed between telling and noting it. Of one thread.
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
    // Pod, container, and the card where it is about one.
    using Key = std::tuple<PodUid, std::string, GpuUuid>;
    // What tell_once() did.
    enum class Telling { told, done_before, refused, away };

    bool is_news(const ShareUse& use);
    void tell_damage(const ShareUse& use);
    Telling tell_once(const Key& key, const PodEvent& event);

    ShareHolder& shares_;
    PodEvents& events_;
    bool is_away_ = false;  // in this look
    std::set<Key> done_;    // what was told of what is so still
    std::set<Key> still_;   // done_, as this look finds it
};

}  // namespace tessera
