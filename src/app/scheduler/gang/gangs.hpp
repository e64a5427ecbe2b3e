// Gangs: pods that are placed all or none. No pod of a gang passes the filter until as many pods as
// the gang's size exist and all of them fit at once. Then each pod gets a reservation
// (ClusterState::reserve_node) and passes to its own node, and no other pod takes the GPUs. So of
// two gangs that fit one at a time, one is placed completely and the other waits completely.
//
// A reservation is given up if its pod is not bound in time, for example because kube-scheduler
// rejects the node for its own reasons. The gang then rests, so that other gangs have their turn.
// Pods of the gang that are bound by then stay: their controller decides on them.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "app/scheduler/cache/cluster_cache.hpp"
#include "app/scheduler/scoring/policy_set.hpp"
#include "base/mutex.hpp"
#include "ports/clock.hpp"
#include "wire/extender/extender_json.hpp"

namespace tessera {

class Gangs {
  public:
    static constexpr std::chrono::seconds kPatience{120};
    static constexpr std::chrono::seconds kRest{30};

    // All of them outlive this; `policies` may be null (binpack).
    Gangs(ClusterCache& cache, const PolicySet* policies, Clock& clock)
        : cache_(cache), policies_(policies), clock_(clock) {}

    // For a pod of a gang. Only on the leader: it keeps the reservations in its memory. Any thread.
    FilterAnswer filter(const ExtenderArgs& args, const PodRequest& pod);
    // Gives up reservations that were not used in time. Called every few seconds by one thread.
    void reconcile();

  private:
    using Time = std::chrono::nanoseconds;  // of Clock::steady

    FilterAnswer answer(ClusterState& state, const ExtenderArgs& args, const PodRequest& pod);
    std::string known_reason(ClusterState& state, const ExtenderArgs& args, const GangId& id,
                             const GangNow& now, std::size_t size);
    FilterAnswer place(ClusterState& state, const ExtenderArgs& args, const PodRequest& pod,
                       const GangNow& now, std::size_t size);

    // The result that a gang does not fit, valid while the snapshot is the same. kube-scheduler
    // asks about each of its pods, and a new search for all of them each time would take the square
    // of their number.
    struct NoRoom {
        std::shared_ptr<const Snapshot> snapshot;
        std::size_t nodes = 0;  // a sum over the node names in the request
        std::size_t pods = 0;   // of the gang
        std::size_t size = 0;   // of the gang, by the pod that was asked about
        std::string reason;
    };

    ClusterCache& cache_;
    const PolicySet* const policies_;
    Clock& clock_;
    Mutex mutex_;
    std::map<GangId, Time> reserved_since_ TESSERA_GUARDED_BY(mutex_);
    std::map<GangId, Time> rests_until_ TESSERA_GUARDED_BY(mutex_);
    std::map<GangId, NoRoom> no_room_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace tessera
