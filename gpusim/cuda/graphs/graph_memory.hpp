// Memory that graphs allocate. A node's address is fixed when the node is made, and may be one that
// the graph has freed; the card gives up
// memory for it when an executable graph is first launched or uploaded: as much as the graph needs
// at its most, its nodes run in their order. That is the executable's until it is destroyed or
// trimmed away, and the device's pool for graphs keeps it until it is trimmed.
//
// What a graph allocates and does not free lives on after the launch, until a stream or another
// graph frees it. All functions want a Session.
#pragma once

#include "gpusim/cuda/graphs/graph.hpp"

namespace gpusim {

// Referred to by all nodes that allocate or free it, one after the other.
struct GraphAllocation : Range {
    unsigned references;
    bool has_free_within;  // a node of the graph that allocates it
    bool has_free_beyond;  // a node of another graph
    bool is_live;          // launched, and not freed
    bool is_on_its_own;    // its executable is gone
    Operation* free;       // that frees it in the order of a stream, referred to
};

CUresult make_graph_allocation(CUdevice device, std::size_t bytes, GraphAllocation** made);
// Frees it when no node refers to it, and it is not live.
void drop(GraphAllocation& allocation);
// The allocation that begins there; null when there is none.
GraphAllocation* find_graph_allocation(CUdeviceptr pointer);

// That may be freed by a stream now: it was launched, and nobody has freed it.
bool is_graph_memory_live(const Range& range);

bool has_memory(const Graph& graph);
// A new executable, whose memory is accounted for from now on.
void enter(Graph& exec);
// CUDA_ERROR_OUT_OF_MEMORY where the card has not what the executable needs.
CUresult back(Graph& exec);
// Before a launch: what it may not do. CUDA_ERROR_INVALID_VALUE where memory of its last launch is
// live still, or what it frees is not.
CUresult check_launch(const Graph& exec);
// After it has been given to the stream.
CUresult note_launch(Graph& exec, Stream& stream);
void leave(Graph& exec);
// What the context has launched, and what that left, is gone.
void end_graph_memory(const Context& context);

}  // namespace gpusim
