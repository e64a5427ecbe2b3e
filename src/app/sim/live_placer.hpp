// One policy that places a snapshot's pods, with rules on cards kept.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "app/sim/live_cluster.hpp"
#include "app/sim/replay.hpp"
#include "domain/placement/card_sets.hpp"
#include "domain/placement/fleet/fleet.hpp"
#include "domain/placement/fleet/index.hpp"
#include "domain/placement/fleet/policy.hpp"

namespace tessera {

// Where a pod is, the cards of all its containers, and how much of them it holds.
struct LivePlace {
    Placed placed;
    std::int64_t milli = 0;
};

// One thread; `cluster` outlives it.
class LivePlacer {
  public:
    LivePlacer(const LiveCluster& cluster, const LiveScene& scene, const FleetPolicyRow& policy,
               const ReplaySeeds& seeds);

    // For policies that learn.
    void arrived(const LivePod& pod);

    // All pods of the group find a place, or none does.
    bool place(const LiveGroup& group);

    // By the pod's index among LiveCluster::pods.
    [[nodiscard]] const std::map<std::size_t, LivePlace>& places() const { return places_; }
    [[nodiscard]] const Fleet& fleet() const { return fleet_; }

  private:
    // A node for a pod, and the cards of each of its containers.
    struct Choice {
        std::size_t node = 0;
        std::int64_t score = 0;
        std::vector<Task> tasks;  // one per container
        std::vector<CardSet> cards;
    };

    std::optional<Choice> choose(const LivePod& pod);
    std::optional<Choice> choose_by_index(const LivePod& pod, const Task& task, std::uint64_t draw);
    std::optional<Choice> choose_by_cards(const LivePod& pod, std::uint64_t draw);
    std::optional<Choice> rate(std::size_t node, const LivePod& pod, const std::vector<Task>& tasks,
                               CardSet cards, std::uint64_t draw);
    bool choose_cards(Choice& choice, NodeLoad load, const LivePod& pod, std::uint64_t draw);
    [[nodiscard]] std::vector<CardSet> placer_fit(std::size_t node, const LivePod& pod) const;
    std::optional<NodeLoad> near(std::size_t node, const NodeLoad& load, const Task& task,
                                 const GpuRequest& gpu);
    std::optional<CardSet> cards_of(std::size_t node, const NodeLoad& load, const Task& task,
                                    const GpuRequest& gpu, std::uint64_t draw);
    void take_better(std::optional<Choice>& best, std::optional<Choice> other,
                     std::uint64_t draw) const;

    const LiveCluster& cluster_;
    Fleet fleet_;
    CardCompany company_;
    std::unique_ptr<FleetPolicy> policy_;
    FleetIndex index_;
    CardSets sets_;
    std::mt19937_64 draws_;
    std::vector<std::size_t> all_nodes_;
    std::map<std::size_t, LivePlace> places_;
};

}  // namespace tessera
