// A cluster described by the pods on each GPU, for tests of its defragmentation.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "domain/defrag/plan.hpp"
#include "domain/scheduling/state.hpp"
#include "testing/builders/builders.hpp"

namespace tessera::defrag {

class Scene {
  public:
    Scene& node(const std::string& name, int gpus, int gib = 16) {
        nodes_.emplace(name, build::node(name, gpus, gibibytes(gib)));
        return *this;
    }
    // Adds a pod on these GPUs of a node, with `gib` GiB of each.
    Scene& pod(const std::string& name, const std::string& node, std::vector<int> gpus, int gib,
               bool movable = true) {
        const PodInfo pod =
            build::pod(name, build::native(gibibytes(gib), static_cast<int>(gpus.size())));
        std::vector<GpuShare> shares;
        for (const int index : gpus) {
            const Gpu& gpu = nodes_.at(node).gpus[static_cast<std::size_t>(index)];
            shares.push_back({.uuid = gpu.uuid, .index = index, .memory = gibibytes(gib)});
        }
        pods_.push_back(build::bound(pod, build::allocation(pod, node, std::move(shares))));
        if (movable) movable_.push_back({.request = build::request(pod), .barred = {}});
        return *this;
    }
    Scene& close(const std::string& node) {
        closed_.insert(NodeName(node));
        return *this;
    }
    [[nodiscard]] Cluster cluster() const {
        ClusterState state;
        for (const auto& [name, node] : nodes_)
            state.set_node(node);
        for (const PodInfo& pod : pods_)
            state.set_pod(pod);
        return {state.snapshot()->nodes(), closed_, movable_};
    }

  private:
    std::map<std::string, NodeInventory> nodes_;
    std::vector<PodInfo> pods_;
    std::vector<MovablePod> movable_;
    std::set<NodeName> closed_;
};

inline RoomFor room_for(const std::vector<ContainerSpec>& containers) {
    return {build::request(build::pod("waits", containers))};
}

}  // namespace tessera::defrag
