// What a graph's nodes allocate, in allocation units of each GPU. It is the size of their address
// ranges, which the driver fixes when the graph is made. Any thread; requires that begin() has
// succeeded.
#pragma once

#include "api/nvidia/cuda.h"
#include "guard/region/layout.hpp"

namespace tessera::guard {

// The most that a graph takes of each GPU.
struct GraphNeeds {
    AllocationUnits of[kMaxGpus];
};

// CUDA_SUCCESS, or kNotGuarded if it allocates on a GPU that the container has no share of.
CUresult find_needs(CUgraph graph, GraphNeeds& needs);
bool is_any(const GraphNeeds& needs);

}  // namespace tessera::guard
