// Which pods of a snapshot are placed together.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "domain/dump/cluster_dump.hpp"

namespace tessera {

// Pods that are placed together, often a single one.
struct LiveGroup {
    std::vector<std::size_t> pods;
    int size = 1;  // the minimum number
};

// In the order in which each group's last pod was created.
struct LiveGroups {
    std::vector<LiveGroup> waiting;
    std::vector<LiveGroup> all;  // including those that run
};

// `rows` are those of the snapshot's pods that may be placed, in order of creation. LiveGroup::pods
// are indices into `rows`.
LiveGroups groups_of(const ClusterDump& dump, std::span<const std::size_t> rows);

}  // namespace tessera
