// Gangs: pods that are placed all or none. No pod of a gang passes the filter before as many as
// the gang's size are there and rooms for all of them are found at once; from then on the rooms
// are kept for them (ClusterState::promise), each pod passes to its own, and nobody comes between.
// So of two gangs that fit one at a time, one is placed whole and the other waits whole.
//
// What is kept for pods that are not bound in time, as when kube-scheduler has reasons of its own
// against their nodes, is given up, and the gang rests so that others have their turn. Pods of it
// that were bound by then stay: whoever made them decides.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "app/scheduler/keeper.hpp"
#include "app/scheduler/placements.hpp"
#include "ports/clock.hpp"
#include "wire/extender_json.hpp"

namespace tessera {

class Gangs {
  public:
    static constexpr std::chrono::seconds kPatience{120};
    static constexpr std::chrono::seconds kRest{30};

    // All outlive it; `placements` may be null (binpack).
    Gangs(Keeper& keeper, const Placements* placements, Clock& clock)
        : keeper_(keeper), placements_(placements), clock_(clock) {}

    // For a pod that is of a gang. Only where this controller leads: what is kept is kept here. Any
    // thread.
    FilterAnswer filter(const ExtenderArgs& args, const PodAsk& pod);
    // Gives up what was kept in vain. Called every few seconds by one thread.
    void settle();

  private:
    using Time = std::chrono::nanoseconds;  // of Clock::steady

    FilterAnswer answer(ClusterState& state, const ExtenderArgs& args, const PodAsk& pod);
    std::string known_reason(ClusterState& state, const ExtenderArgs& args, const GangId& id,
                             const GangNow& now, std::size_t size);
    FilterAnswer place(ClusterState& state, const ExtenderArgs& args, const PodAsk& pod,
                       const GangNow& now, std::size_t size);

    // That a gang finds no room: true as long as nothing changes. Each of its pods is asked for,
    // and to look for rooms for all of them each time would take the square of their number.
    struct NoRoom {
        std::shared_ptr<const ClusterView> view;
        std::size_t nodes = 0;  // a sum over the names that were offered
        std::size_t pods = 0;   // of the gang
        std::size_t size = 0;   // of it, by the pod that was asked about
        std::string reason;
    };

    Keeper& keeper_;
    const Placements* const placements_;
    Clock& clock_;
    std::mutex mutex_;
    std::map<GangId, Time> kept_since_;  // guarded by mutex_, like the next
    std::map<GangId, Time> rests_until_;
    std::map<GangId, NoRoom> no_room_;
};

}  // namespace tessera
