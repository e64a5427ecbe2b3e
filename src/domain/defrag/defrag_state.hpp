// The GPUs of a cluster while the search tries moves.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "domain/defrag/plan.hpp"
#include "domain/defrag/price_list.hpp"
#include "domain/placement/node_price.hpp"
#include "domain/placement/nominees.hpp"
#include "domain/placement/place.hpp"

namespace tessera::defrag {

// A cost is a lower bound of moves, in fractions: a pod on several GPUs counts as a fraction on
// each.
inline constexpr std::int64_t kOneMove = 840;  // divisible by 1 to 8
inline constexpr std::int64_t kLeastPart = 1;
inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() / 1024;

// A movable pod and its current place.
struct PlacedPod {
    AssignedPodPtr assigned_pod;
    std::size_t node = 0;
    std::vector<std::size_t> gpus;  // positions on the node, ascending
    Bytes size;
    const MovablePod* movable = nullptr;
    // On each of the GPUs, as count_allocated counts it.
    std::vector<std::pair<Bytes, Percent>> allocated;
    // Pods of one kind are placed alike. Set once the pod was placed.
    std::optional<std::size_t> kind{};
    bool moved = false;
};

// Where the replacement of a pod would be placed.
struct Place {
    std::size_t node = 0;
    Assignment assignment;  // positions on the node

    [[nodiscard]] bool touches(const PlacedPod& placed) const;
    [[nodiscard]] bool is_same(const Place& other) const;
};

class DefragState {
  public:
    // The number of kinds of pods whose prices are kept: about 150 MB for a cluster of 5,000 nodes.
    static constexpr std::size_t kMostKinds = 1'024;

    // Both must outlive the state. `pod`: the pod that the search makes space for. It gets
    // what the nominees before it leave. The replacement of a placed pod gets what the nominees
    // before that pod leave, and these may be others.
    DefragState(const Cluster& cluster, const PodToPlace& pod, std::size_t most_kinds = kMostKinds);

    [[nodiscard]] const std::vector<PlacedPod>& placed_pods() const { return placed_pods_; }
    [[nodiscard]] std::size_t nodes() const { return nodes_.size(); }
    [[nodiscard]] const NodeInfo& original(std::size_t node) const {
        return *nodes_[node].original;
    }
    [[nodiscard]] bool is_open(std::size_t node) const { return nodes_[node].open; }
    [[nodiscard]] std::size_t gpus(std::size_t node) const { return nodes_[node].now.gpus.size(); }
    // The effect of a move on a node with nominees is not known in advance: the nominees may use
    // other GPUs as pods come and go.
    [[nodiscard]] bool has_nominees() const { return has_nominees_; }
    [[nodiscard]] bool has_nominees(std::size_t node) const {
        return !original(node).nominees.empty();
    }
    [[nodiscard]] FreeCapacity free_capacity() const;
    // GPUs that are healthy and on nodes that accept new pods.
    [[nodiscard]] std::size_t usable_gpus() const;

    // The placed pods that were on the GPU at the start.
    [[nodiscard]] std::span<const std::size_t> placed_on(std::size_t node, std::size_t gpu) const {
        return nodes_[node].placed_pods[gpu];
    }
    // By node. Empty: no node is barred.
    [[nodiscard]] std::vector<char> barred_nodes(const Barred& barred) const;
    // Where the replacement of a placed pod would go in the current state. Nothing if it does not
    // fit, if it would get a GPU that the pod has now, or if its place depends on when it is
    // created.
    [[nodiscard]] std::optional<Place> place(std::size_t pod_index);
    // The number of kinds that place() remembers, at most `most_kinds`: nearly all of the memory in
    // use.
    [[nodiscard]] std::size_t priced_kinds() const;
    // The number of node prices computed, over all kinds and calls of place(): most of their time.
    [[nodiscard]] std::size_t nodes_priced() const { return nodes_priced_; }
    // Whether the pod of `placer` fits on a node, with its CPU and memory.
    [[nodiscard]] bool fits(Placer& placer, const HostRequest& host, std::size_t node) const;
    // Whether it would fit without any of the node's original placed pods.
    [[nodiscard]] bool could_fit(Placer& placer, const HostRequest& host, std::size_t node) const;

    // Moves of placed pods that are gone must be undone in reverse order.
    void leave(std::size_t pod_index);
    void enter(std::size_t pod_index, const Place& place);
    void undo_leave(std::size_t pod_index);
    void undo_enter(std::size_t pod_index, const Place& place);

    // The minimum number of placed pods that must leave before one GPU of the container fits here.
    // If only a nominee prevents it, the cost is kLeastPart: some move may send the nominee
    // elsewhere.
    [[nodiscard]] std::int64_t cost(const ContainerRequest& container, std::size_t node,
                                    std::size_t gpu) const;

  private:
    struct NodeState {
        const NodeInfo* original = nullptr;  // the node before any move
        NodeInfo now;
        std::vector<GpuState> left;  // for pod_; empty: the same as in `now`
        HostRequest used;
        bool open = false;
        std::vector<std::vector<std::size_t>> placed_pods;  // by GPU
        std::uint64_t version = 0;  // of `now`, unique; an undo restores the earlier one
        std::vector<std::uint64_t> versions_before;  // of changes that can be undone
    };
    // The prices of the nodes for pods of one kind.
    struct Prices {
        PriceList nodes;
        std::vector<char> barred;
        std::vector<std::uint64_t> versions;  // by node: NodeState::version at the time of pricing
        std::size_t followed;                 // the number of entries of changes_ that are included
    };
    // Pods that are placed alike, apart from their CPU and memory.
    struct Kind {
        const MovablePod* one = nullptr;
        std::optional<Prices> prices{};  // set once one of them was placed
    };

    [[nodiscard]] static std::span<const GpuState> left(const NodeState& state) {
        return state.left.empty() ? state.now.gpus : state.left;
    }
    [[nodiscard]] HostRequest host_left(std::size_t node) const;
    void add_placed_pods(const Cluster& cluster);
    std::size_t kind_of(const MovablePod& pod);
    [[nodiscard]] std::optional<Place> best_place(PlacedPod& placed);
    [[nodiscard]] std::optional<Place> place_once_gone(std::size_t pod_index);
    [[nodiscard]] std::optional<std::size_t> cheapest_node(const MovablePod& pod,
                                                           PriceList& prices) const;
    // Brings the prices up to date with the nodes that have changed since the last call.
    Prices& prices_of(Kind& kind);
    [[nodiscard]] Prices no_prices(const MovablePod& pod) const;
    void forget_one_kind();
    void look_at(Prices& prices, const MovablePod& pod, std::size_t node, Placer& placer);
    [[nodiscard]] std::optional<NodePrice> price(const MovablePod& pod, std::size_t node,
                                                 Placer& placer) const;
    // Removes a pod from a node or adds it: as a new state of the node, or as the undo of the last
    // one.
    enum class As { new_state, undone };
    void remove(std::size_t node, const AssignedPod& assigned_pod, const HostRequest& host, As as);
    void add(std::size_t node, AssignedPodPtr assigned_pod, const HostRequest& host, As as);
    void refresh(std::size_t node);
    void note_change(std::size_t node, As as);

    const PodToPlace pod_;
    const std::size_t most_kinds_;
    bool has_nominees_ = false;
    std::vector<NodeState> nodes_;
    std::vector<PlacedPod> placed_pods_;  // ascending by size
    std::vector<Kind> kinds_;
    std::vector<std::uint32_t> changes_;  // nodes, one entry per change
    std::uint64_t versions_ = 0;
    std::size_t nodes_priced_ = 0;
};

}  // namespace tessera::defrag
