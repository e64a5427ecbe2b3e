// The placement policies of this controller: which one places a pod, and what each of them has
// learnt from the pods that arrive.
//
// A thread of its own does the learning. It feeds the policies. When one of them scores differently
// from then on, the thread computes the new scores before any request sees them. In between, it
// computes the scores that requests have left open. So no request waits for learning.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "app/scheduler/cache/cluster_cache.hpp"
#include "app/scheduler/scoring/score_cache.hpp"
#include "base/mutex.hpp"
#include "domain/placement/engine/expected_fill/learnt_mix.hpp"
#include "ports/clock.hpp"

namespace tessera {

// The names of the policies, and what each does: for --help.
std::string policies_help();

class PolicySet {
  public:
    // `standard`: the name of a policy that find_policy_option finds, for pods that name no other.
    explicit PolicySet(std::string_view standard);

    // The scorer of the pod's policy, or of the standard one; null for binpack, which is the
    // Placer's own best fit in bytes. Any thread.
    [[nodiscard]] std::shared_ptr<const NodeScorer> scorer_of(const PodRequest& pod) const;

    // Learns periodically until `stop`. It starts when the snapshot is complete (`synced`), because
    // only the nodes show what part of a GPU a pod requests. Runs in its own thread.
    void learn(ClusterCache& cache, Clock& clock, const std::atomic<bool>& synced,
               const std::stop_token& stop);
    // Learns these arrivals at once, the oldest first: for a caller with few nodes. One thread.
    void learn(Arrivals arrivals, const Snapshot& snapshot);

  private:
    struct Entry {
        const PlacementPolicyRow* row;
        std::unique_ptr<PlacementPolicy> learner;  // used by the learning thread
        std::shared_ptr<ScoreCache> scores;        // guarded by mutex_
        // The other members are used by the learning thread.
        bool is_changed = false;           // the learner has changed since `next` was made from it
        bool is_shown = false;             // its scores have been published at least once
        std::shared_ptr<ScoreCache> next;  // not published yet
        // The snapshot that `next` must be complete for. With newer snapshots, the work might never
        // end.
        std::shared_ptr<const Snapshot> next_snapshot;
        // The previous scores, kept here so that a request that still uses them does not destroy
        // them, which takes long.
        std::shared_ptr<ScoreCache> retired;
    };
    [[nodiscard]] std::vector<PlacementTask> usual_kinds() const;
    void hear(Arrivals arrivals, const Snapshot& snapshot);
    void make_next(Entry& entry) const;
    void show_next(Entry& entry);
    // Whether all policies have published scores that include what was there at the start.
    [[nodiscard]] bool is_rebuilt() const;
    // One step of the work; false if there is more to do.
    bool advance(Entry& entry, const std::shared_ptr<const Snapshot>& snapshot);

    const std::string standard_;
    mutable Mutex mutex_;
    std::vector<Entry> entries_;
    // Used by the learning thread, for policies that need the mix.
    LearntMix mix_;
    std::uint64_t learnt_ = 0;    // tasks
    std::uint64_t next_mix_ = 0;  // the value of learnt_ at which they get the mix next
};

}  // namespace tessera
