// A snapshot in which some pods have GPUs that they do not have yet: for plans of several pods.
#pragma once

#include <cstdint>
#include <memory>

#include "domain/cluster/snapshot.hpp"
#include "domain/placement/node_scorer.hpp"
#include "domain/scheduling/snapshot_builder.hpp"

namespace tessera {

// Used by one thread. Its snapshots have the positions of the first one.
class PlannedSnapshot {
  public:
    // `versions` is the last PlacementRow::version that any plan has used, at first
    // kFirstPlannedVersion; it outlives this.
    PlannedSnapshot(std::shared_ptr<const Snapshot> snapshot, std::uint64_t& versions);

    [[nodiscard]] const Snapshot& now() const { return *now_; }
    // Gives the pod GPUs of that node, as ClusterState::reserve does. False if it does not fit.
    bool assign(std::uint32_t position, const PodRequest& pod, const NodeScorer* scorer);

  private:
    std::shared_ptr<const Snapshot> now_;
    std::uint64_t& versions_;
    SnapshotBuilder builder_;
};

}  // namespace tessera
