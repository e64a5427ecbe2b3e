// The objects of a large cluster as the API server sends them: nodes with 8 GPUs, and running pods
// that share the GPUs. The same seed gives the same text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "domain/cluster/node.hpp"

namespace tessera::bench {

struct ClusterShape {
    int nodes = 1000;
    int gpus_per_node = 8;
    int pods = 40'000;
    std::uint32_t seed = 1;
};

struct ClusterText {
    std::vector<std::string> names;
    std::vector<std::string> nodes;  // v1.Node, about 14.5 KB each, as large as real ones
    std::vector<std::string> pods;   // v1.Pod, bound and running
};

ClusterText make_cluster(const ClusterShape& shape);

// The GPU `index` of node number `node`: 80 GiB.
Gpu gpu_of(int node, int index);

// An unbound pod that requests `gib` of one GPU.
std::string pending_pod(const std::string& name, const std::string& uid, int gib);

// A page of a v1.List: at most `count` of `items`, starting at `first`.
std::string list_page(const char* kind, const std::vector<std::string>& items, std::size_t first,
                      std::size_t count);

}  // namespace tessera::bench
