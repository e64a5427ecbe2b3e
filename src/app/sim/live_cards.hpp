// What cards a snapshot's nodes have: sizes, of which a share in bytes is another part each, and
// kinds of nodes, by which policies tell them apart.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "domain/placement/fleet/node_load.hpp"
#include "domain/snapshot/cluster_snapshot.hpp"

namespace tessera {

struct CardSize {
    MemoryUnit unit = MemoryUnit::gib;  // of its node
    Bytes card;                         // what shares may hold together

    friend bool operator==(const CardSize&, const CardSize&) = default;
};

// Nodes that the engine takes to be of one model.
struct NodeKind {
    std::string model;     // of the first card, as the controller has it
    std::size_t size = 0;  // of the largest card; among LiveCards::sizes()
    bool mixed = false;    // cards of several models or sizes

    friend bool operator==(const NodeKind&, const NodeKind&) = default;
};

class LiveCards {
  public:
    // unsupported: more kinds than the engine tells apart.
    static Result<LiveCards> of(const ClusterSnapshot& snapshot);

    // In the order in which the snapshot first has one.
    [[nodiscard]] std::span<const CardSize> sizes() const { return sizes_; }
    // By the number that the engine knows them by.
    [[nodiscard]] std::span<const NodeKind> kinds() const { return kinds_; }
    // 0 for a node without cards.
    [[nodiscard]] int kind_of(std::size_t node) const { return kind_of_[node]; }
    [[nodiscard]] std::size_t size_of(std::size_t node, std::size_t card) const {
        return size_of_[node][card];
    }
    // Those of the node, as far as the engine tells cards apart.
    [[nodiscard]] CardSet cards_of_size(std::size_t node, std::size_t size) const;
    // Of all nodes of a kind.
    [[nodiscard]] int cards_of_size(int kind, std::size_t size) const {
        return counts_[static_cast<std::size_t>(kind)][size];
    }
    // Ascending.
    [[nodiscard]] std::span<const std::size_t> mixed_nodes() const { return mixed_nodes_; }

  private:
    std::vector<CardSize> sizes_;
    std::vector<NodeKind> kinds_;
    std::vector<std::vector<int>> counts_;  // of cards, per kind and size
    std::vector<int> kind_of_;              // per node
    std::vector<std::vector<std::size_t>> size_of_;
    std::vector<std::size_t> mixed_nodes_;
};

}  // namespace tessera
