// What pods have of each GPU, and which pods have GPUs in each affinity group, while the simulator
// places and removes pods. The controller's own code reads it to decide what rules on GPUs allow
// (domain/placement/gpu_constraints.hpp) and what links prefer (domain/placement/gpu_sets.hpp).
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

// Copies are independent. Used by one thread.
class SimulatedGpus {
  public:
    SimulatedGpus() : SimulatedGpus(std::vector<NodeInfo>()) {}
    // Starts with the pods that are assigned to these nodes.
    explicit SimulatedGpus(const std::vector<NodeInfo>& nodes);

    // `rules` with GpuRules::joins: whether another pod of the affinity group has a GPU now.
    [[nodiscard]] GpuRules with_joins(GpuRules rules, const PodUid& pod) const;
    // The node's GPUs that `gpu_constraints` admits, among its first kMaxGpus; the engine knows no
    // others.
    [[nodiscard]] GpuSet allowed_gpus(GpuConstraints& gpu_constraints, std::size_t node) const;

    void add(std::size_t node, const AssignedPod& assigned_pod) { count(node, assigned_pod, 1); }
    void remove(std::size_t node, const AssignedPod& assigned_pod) {
        count(node, assigned_pod, -1);
    }

    // What add() needs of a pod that has these GPUs of the node: one set for each of its
    // containers, in order. Changes nothing.
    [[nodiscard]] AssignedPod assigned_pod_on(std::size_t node, const PodRequest& pod,
                                              std::span<const GpuSet> gpus) const;
    // The node's GPUs now, without NodeGpus::free and single_share. Valid until the next change.
    [[nodiscard]] NodeGpus node_gpus(std::size_t node) const;

  private:
    struct NodeHardware {
        std::vector<Gpu> gpus;
        std::vector<TopologyGroup> topology_groups;
        MemoryUnit unit = MemoryUnit::gib;
    };
    void count(std::size_t node, const AssignedPod& assigned_pod, int sign);

    std::shared_ptr<const std::vector<NodeHardware>> nodes_;
    std::vector<std::vector<GpuState>> gpus_;  // one entry per node
    GpuAffinityIndex affinity_;
};

// The destructor removes the pods that were added since the last keep(). `gpus` outlives this.
class SimulatedGpusTrial {
  public:
    explicit SimulatedGpusTrial(SimulatedGpus& gpus) : gpus_(gpus) {}
    ~SimulatedGpusTrial();
    SimulatedGpusTrial(const SimulatedGpusTrial&) = delete;
    SimulatedGpusTrial& operator=(const SimulatedGpusTrial&) = delete;

    void add(std::size_t node, AssignedPod assigned_pod);
    void keep() { added_.clear(); }

  private:
    struct One {
        std::size_t node;
        AssignedPod assigned_pod;
    };
    SimulatedGpus& gpus_;
    std::vector<One> added_;
};

}  // namespace tessera
