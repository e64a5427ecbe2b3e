// Which pods of a snapshot are placed together.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "domain/snapshot/cluster_snapshot.hpp"

namespace tessera {

// Pods that are placed together: most often one.
struct LiveGroup {
    std::vector<std::size_t> pods;
    int size = 1;  // so many at least
};

// In the order in which the last pod of each came.
struct LiveGroups {
    std::vector<LiveGroup> waiting;
    std::vector<LiveGroup> all;  // of those that run too
};

// `rows` are those of the snapshot's pods that may be placed, in the order of their creation;
// LiveGroup::pods are indices of it.
LiveGroups groups_of(const ClusterSnapshot& snapshot, std::span<const std::size_t> rows);

}  // namespace tessera
