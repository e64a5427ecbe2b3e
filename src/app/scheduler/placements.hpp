// The placement policies of this controller: which one places a pod, and what each of them has
// learnt of the pods that come.
//
// Learning is a thread's own business: it feeds the policies and, when one of them scores
// differently from then on, has the scores worked out before anybody is shown them; between, it
// rates what those who ask have left to it. So no request waits for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "app/scheduler/keeper.hpp"
#include "app/scheduler/ratings.hpp"
#include "domain/placement/fleet/expected_fill/learnt_mix.hpp"
#include "ports/clock.hpp"

namespace tessera {

// The names of the policies, and what each does: for --help.
std::string policies_help();

class Placements {
  public:
    // `standard`: the name of a policy that find_policy_option finds, for pods that name no other.
    explicit Placements(std::string_view standard);

    // Of the pod's policy, or the standard one; null for binpack, which is the Placer's own best
    // fit in bytes. Any thread.
    [[nodiscard]] std::shared_ptr<const NodeRater> rater_of(const PodAsk& pod) const;

    // Until `stop`, now and then, as soon as the view is complete (`synced`): what part of a card
    // a pod asks for only the nodes tell. In a thread of its own.
    void learn(Keeper& keeper, Clock& clock, const std::atomic<bool>& synced,
               const std::stop_token& stop);
    // The pods that came, the oldest first, and at once: for who asks about few nodes. One thread.
    void learn(Arrivals arrivals, const ClusterView& view);

  private:
    struct Entry {
        const FleetPolicyRow* row;
        std::unique_ptr<FleetPolicy> learner;  // of the learning thread
        std::shared_ptr<Ratings> ratings;      // guarded by mutex_
        // The rest is of the learning thread.
        bool is_changed = false;        // the learner, since `next` was made of it
        bool is_shown = false;          // what it learnt, once at least
        std::shared_ptr<Ratings> next;  // not shown yet
        // With which it is to be caught up first: what changes meanwhile would have no end.
        std::shared_ptr<const ClusterView> next_view;
        // Those of before. Who asks them still does not have to end them, which takes long.
        std::shared_ptr<Ratings> retired;
    };
    [[nodiscard]] std::vector<Task> usual_kinds() const;
    void hear(Arrivals arrivals, const ClusterView& view);
    void make_next(Entry& entry) const;
    void show_next(Entry& entry);
    // Whether all policies have been shown with what was there at the start.
    [[nodiscard]] bool is_rebuilt() const;
    // A step of the work; false where there is more to do.
    bool advance(Entry& entry, const std::shared_ptr<const ClusterView>& view);

    const std::string standard_;
    mutable std::mutex mutex_;
    std::vector<Entry> entries_;
    // Of the learning thread, for policies that are told the mix.
    LearntMix mix_;
    std::uint64_t learnt_ = 0;    // tasks
    std::uint64_t next_mix_ = 0;  // told when so many were learnt
};

}  // namespace tessera
