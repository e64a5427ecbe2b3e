// Places a snapshot's pods under one policy, and applies rules on GPUs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "domain/placement/engine/index.hpp"
#include "domain/placement/engine/placement_engine.hpp"
#include "domain/placement/engine/policy.hpp"
#include "domain/placement/gpu_sets.hpp"
#include "simulator/live/live_cluster.hpp"
#include "simulator/replay/replay.hpp"

namespace tessera {

// A pod's node, the GPUs of all its containers, and how much of them is allocated to it.
struct LivePlace {
    Placed placed;
    std::int64_t milli = 0;
};

// Uses one thread; `cluster` outlives this.
class LivePlacer {
  public:
    LivePlacer(const LiveCluster& cluster, const LiveScene& scene, const PlacementPolicyRow& policy,
               const ReplaySeeds& seeds);

    // Lets the policy learn from the pod.
    void arrived(const LivePod& pod);

    // Places all pods of the group, or none.
    bool place(const LiveGroup& group);

    // By the pod's index in LiveCluster::pods.
    [[nodiscard]] const std::map<std::size_t, LivePlace>& places() const { return places_; }
    [[nodiscard]] const PlacementEngine& engine() const { return engine_; }

  private:
    // A node for a pod, and the GPUs of each of its containers.
    struct Choice {
        std::size_t node = 0;
        std::int64_t score = 0;
        std::vector<PlacementTask> tasks;  // one task per container
        std::vector<GpuSet> gpus;
    };

    std::optional<Choice> choose(const LivePod& pod);
    std::optional<Choice> choose_by_index(const LivePod& pod, const PlacementTask& task,
                                          std::uint64_t random);
    std::optional<Choice> choose_by_gpus(const LivePod& pod, std::uint64_t random);
    std::optional<Choice> score(std::size_t node, const LivePod& pod,
                                const std::vector<PlacementTask>& tasks, GpuSet gpus,
                                std::uint64_t random);
    bool choose_gpus(Choice& choice, NodeLoad load, const LivePod& pod, std::uint64_t random);
    [[nodiscard]] std::vector<GpuSet> placer_assignment(std::size_t node, const LivePod& pod) const;
    std::optional<NodeLoad> near(std::size_t node, const NodeLoad& load, const PlacementTask& task,
                                 const GpuRequest& gpu);
    std::optional<GpuSet> gpus_of(std::size_t node, const NodeLoad& load, const PlacementTask& task,
                                  const GpuRequest& gpu, std::uint64_t random);
    void take_better(std::optional<Choice>& best, std::optional<Choice> other,
                     std::uint64_t random) const;

    const LiveCluster& cluster_;
    PlacementEngine engine_;
    SimulatedGpus gpus_;
    std::unique_ptr<PlacementPolicy> policy_;
    EngineIndex index_;
    GpuSets sets_;
    std::mt19937_64 draws_;
    std::vector<std::size_t> all_nodes_;
    std::map<std::size_t, LivePlace> places_;
};

}  // namespace tessera
