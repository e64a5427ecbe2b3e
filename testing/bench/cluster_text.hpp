// The objects of a large cluster as the API server would send them: nodes with 8 cards, and running
// pods that share them. The same seed gives the same text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "domain/cluster/node.hpp"

namespace tessera::bench {

struct ClusterShape {
    int nodes = 1000;
    int cards_per_node = 8;
    int pods = 40'000;
    std::uint32_t seed = 1;
};

struct ClusterText {
    std::vector<std::string> names;
    std::vector<std::string> nodes;  // v1.Node, about 14.5 KB each, as real ones are
    std::vector<std::string> pods;   // v1.Pod, bound and running
};

ClusterText make_cluster(const ClusterShape& shape);

// The card `index` of node number `node`: 80 GiB.
Gpu card_of(int node, int index);

// An unbound pod that asks for `gib` of one card.
std::string pending_pod(const std::string& name, const std::string& uid, int gib);

// A v1.List page of `items` from `first` on.
std::string list_page(const char* kind, const std::vector<std::string>& items, std::size_t first,
                      std::size_t count);

}  // namespace tessera::bench
