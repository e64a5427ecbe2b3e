// Builds the successive snapshots. Each shares with the previous one the pieces that did not
// change.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "domain/cluster/snapshot.hpp"

namespace tessera {

class SnapshotBuilder {
  public:
    SnapshotBuilder() = default;
    // Goes on from that snapshot. `versions`: the last PlacementRow::version that was used.
    SnapshotBuilder(const Snapshot& snapshot, std::uint64_t versions);

    // All nodes, ascending by name.
    void set_nodes(std::vector<NodeInfo> nodes);
    // Replaces a node of the last set_nodes(); other nodes are ignored. False if its number of GPUs
    // has changed: set_nodes() must be called then.
    bool replace(NodeInfo node);

    [[nodiscard]] std::shared_ptr<const Snapshot> build(const UnobservedIndex& unobserved);
    // The last PlacementRow::version that was used.
    [[nodiscard]] std::uint64_t versions() const { return versions_; }

  private:
    // Adds the pods of a node to the affinity index, or removes them (`sign` -1).
    void keep_affinity(const NodeInfo& node, int sign);

    std::uint64_t versions_ = 0;  // the last version number that was used
    std::vector<Snapshot::PiecePtr> pieces_;
    std::shared_ptr<const NameIndex> index_;
    GpuAffinityIndex affinity_;
    std::shared_ptr<const GpuAffinityIndex> shown_affinity_;  // null: affinity_ has changed since
};

}  // namespace tessera
