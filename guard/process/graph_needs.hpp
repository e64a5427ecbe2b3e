// What a graph's nodes allocate, in granules of each card: what their addresses fill, which the
// driver has fixed when the graph is made. Any thread; wants begin() to have succeeded.
#pragma once

#include "api/nvidia/cuda.h"
#include "guard/region/layout.hpp"

namespace tessera::guard {

// What a graph may take of each card.
struct GraphNeeds {
    Granules of[kMaxCards];
};

// CUDA_SUCCESS, or kNotGuarded where it allocates on a card that the container has no share of.
CUresult find_needs(CUgraph graph, GraphNeeds& needs);
bool is_any(const GraphNeeds& needs);

}  // namespace tessera::guard
