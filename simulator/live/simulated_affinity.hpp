// Which pods are on which GPU while pods are placed and removed: the data for rules on GPUs
// (request/gpu_rules.hpp) and for links. The controller's own code decides what the rules allow and
// prefer (placement/gpu_constraints.hpp, gpu_sets.hpp).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "domain/cluster/gpu_affinity_index.hpp"
#include "domain/cluster/pod_request.hpp"
#include "domain/cluster/snapshot.hpp"
#include "domain/placement/engine/node_load.hpp"
#include "domain/placement/gpu_constraints.hpp"

namespace tessera {

// Copies are independent. Uses one thread.
class SimulatedAffinity {
  public:
    SimulatedAffinity() : SimulatedAffinity(std::vector<NodeInfo>()) {}
    // Starts with the pods that are assigned to these nodes.
    explicit SimulatedAffinity(const std::vector<NodeInfo>& nodes);

    // The pod's rules, with GpuRules::joins for the current state.
    [[nodiscard]] GpuRules joined(GpuRules rules, const PodUid& pod) const;
    // The node's GPUs that are allowed, as far as the engine has numbers for GPUs.
    [[nodiscard]] GpuSet admitted(GpuConstraints& gpu_constraints, std::size_t node) const;

    void add(std::size_t node, const AssignedPod& assigned_pod) { count(node, assigned_pod, 1); }
    void remove(std::size_t node, const AssignedPod& assigned_pod) {
        count(node, assigned_pod, -1);
    }

    // The pod on these GPUs of the node; one set per container.
    [[nodiscard]] AssignedPod assigned_pod_on(std::size_t node, const PodRequest& pod,
                                              std::span<const GpuSet> gpus) const;
    // The node's GPUs now, without NodeGpus::free. Valid until the next change.
    [[nodiscard]] NodeGpus node_gpus(std::size_t node) const;

  private:
    struct Fixed {
        std::vector<Gpu> gpus;
        std::vector<TopologyGroup> topology_groups;
        MemoryUnit unit = MemoryUnit::gib;
    };
    void count(std::size_t node, const AssignedPod& assigned_pod, int sign);

    std::shared_ptr<const std::vector<Fixed>> nodes_;
    std::vector<std::vector<GpuState>> gpus_;  // one entry per node
    GpuAffinityIndex affinity_;
};

// Removes on destruction what was added through it, unless keep() was called. `affinity` outlives
// this.
class SimulatedAffinityTrial {
  public:
    explicit SimulatedAffinityTrial(SimulatedAffinity& affinity) : affinity_(affinity) {}
    ~SimulatedAffinityTrial();
    SimulatedAffinityTrial(const SimulatedAffinityTrial&) = delete;
    SimulatedAffinityTrial& operator=(const SimulatedAffinityTrial&) = delete;

    void add(std::size_t node, AssignedPod assigned_pod);
    void keep() { added_.clear(); }

  private:
    struct One {
        std::size_t node;
        AssignedPod assigned_pod;
    };
    SimulatedAffinity& affinity_;
    std::vector<One> added_;
};

}  // namespace tessera
