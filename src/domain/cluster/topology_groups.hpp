// The topology groups of a node's GPUs.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "domain/cluster/node.hpp"

namespace tessera {

// A node with more GPUs gets no topology groups: there can be up to 3^(gpus/3).
inline constexpr std::size_t kMostLinkedGpus = 16;
inline constexpr std::size_t kMostTopologyGroups = 64;

// The nearest first, then those that cross the fewest others, then by their GPUs; the first
// kMostTopologyGroups. Two GPUs are linked if both report it.
std::vector<TopologyGroup> topology_groups_of(std::span<const Gpu> gpus);

}  // namespace tessera
