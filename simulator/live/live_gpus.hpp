// The GPUs of a snapshot's nodes: their sizes, because a share in bytes is a different part of
// each; and kinds of nodes, by which policies distinguish GPUs.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "domain/dump/cluster_dump.hpp"
#include "domain/placement/engine/node_load.hpp"

namespace tessera {

struct GpuSize {
    MemoryUnit unit = MemoryUnit::gib;  // unit of its node
    Bytes gpu;                          // memory that shares may use together

    friend bool operator==(const GpuSize&, const GpuSize&) = default;
};

// Nodes that count as one model in the engine.
struct NodeKind {
    std::string model;     // of the first GPU, as in the controller
    std::size_t size = 0;  // of the largest GPU; index in LiveGpus::sizes()
    bool mixed = false;    // has GPUs of several models or sizes

    friend bool operator==(const NodeKind&, const NodeKind&) = default;
};

class LiveGpus {
  public:
    // unsupported: more kinds than the engine supports.
    static Result<LiveGpus> of(const ClusterDump& dump);

    // In the order in which they first appear in the snapshot.
    [[nodiscard]] std::span<const GpuSize> sizes() const { return sizes_; }
    // By the number that the engine uses.
    [[nodiscard]] std::span<const NodeKind> kinds() const { return kinds_; }
    // 0 for a node without GPUs.
    [[nodiscard]] int kind_of(std::size_t node) const { return kind_of_[node]; }
    [[nodiscard]] std::size_t size_of(std::size_t node, std::size_t gpu) const {
        return size_of_[node][gpu];
    }
    // The node's GPUs of that size, as far as the engine has numbers for GPUs.
    [[nodiscard]] GpuSet gpus_of_size(std::size_t node, std::size_t size) const;
    // The number of such GPUs on all nodes of a kind.
    [[nodiscard]] int gpus_of_size(int kind, std::size_t size) const {
        return counts_[static_cast<std::size_t>(kind)][size];
    }
    // In ascending order.
    [[nodiscard]] std::span<const std::size_t> mixed_nodes() const { return mixed_nodes_; }

  private:
    std::vector<GpuSize> sizes_;
    std::vector<NodeKind> kinds_;
    std::vector<std::vector<int>> counts_;  // number of GPUs, per kind and size
    std::vector<int> kind_of_;              // kind of each node
    std::vector<std::vector<std::size_t>> size_of_;
    std::vector<std::size_t> mixed_nodes_;
};

}  // namespace tessera
