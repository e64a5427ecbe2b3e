// A cluster as a picture of who is on which card, for tests of its defragmentation.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "domain/cluster/state.hpp"
#include "domain/defrag/plan.hpp"
#include "testing/builders/builders.hpp"

namespace tessera::defrag {

// Pods of so many GiB on cards.
class Scene {
  public:
    Scene& node(const std::string& name, int cards, int gib = 16) {
        nodes_.emplace(name, build::node(name, cards, gibibytes(gib)));
        return *this;
    }
    // On these cards of a node, `gib` of each.
    Scene& pod(const std::string& name, const std::string& node, std::vector<int> cards, int gib,
               bool movable = true) {
        const PodFacts pod =
            build::pod(name, build::native(gibibytes(gib), static_cast<int>(cards.size())));
        std::vector<GpuShare> shares;
        for (const int card : cards) {
            const Gpu& gpu = nodes_.at(node).gpus[static_cast<std::size_t>(card)];
            shares.push_back({.uuid = gpu.uuid, .index = card, .memory = gibibytes(gib)});
        }
        pods_.push_back(build::bound(pod, build::allocation(pod, node, std::move(shares))));
        if (movable) movable_.push_back({.ask = build::ask(pod), .barred = {}});
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
        for (const PodFacts& pod : pods_)
            state.set_pod(pod);
        return {state.view()->nodes(), closed_, movable_};
    }

  private:
    std::map<std::string, NodeInventory> nodes_;
    std::vector<PodFacts> pods_;
    std::vector<MovablePod> movable_;
    std::set<NodeName> closed_;
};

inline RoomFor room_for(const std::vector<ContainerSpec>& containers) {
    return {build::ask(build::pod("waits", containers))};
}

}  // namespace tessera::defrag
