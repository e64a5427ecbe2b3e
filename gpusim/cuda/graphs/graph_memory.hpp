// Memory that graphs allocate. A node's address is fixed when the node is made, and may be one that
// the graph has freed. The GPU gives the memory when an executable graph is first launched or
// uploaded. The amount is the most that the graph needs at once when its nodes run in their order.
// The executable keeps it until it is destroyed or trimmed. Then the device's pool for graphs keeps
// it until it is trimmed.
//
// What a graph allocates and does not free lives on after the launch, until a stream or another
// graph frees it. All functions require a Session.
#pragma once

#include "gpusim/cuda/graphs/graph.hpp"

namespace gpusim {

// All nodes that allocate or free it refer to it; they do so one after the other.
struct GraphAllocation : Range {
    unsigned references;
    bool has_free_within;  // a free node in the graph that allocates it
    bool has_free_beyond;  // a free node in another graph
    bool is_live;          // launched, and not freed
    bool is_on_its_own;    // its executable is gone
    Operation* free;       // the stream-ordered operation that frees it, with a reference
};

CUresult make_graph_allocation(CUdevice device, std::size_t bytes, GraphAllocation** made);
// Frees it if no node refers to it and it is not live.
void drop(GraphAllocation& allocation);
// The allocation that begins there; null if there is none.
GraphAllocation* find_graph_allocation(CUdeviceptr pointer);

// Whether a stream may free it now: it was launched, and has not been freed.
bool is_graph_memory_live(const Range& range);

bool has_memory(const Graph& graph);
// Adds a new executable, whose memory is accounted for from now on.
void enter(Graph& exec);
// CUDA_ERROR_OUT_OF_MEMORY if the GPU does not have what the executable needs.
CUresult back(Graph& exec);
// Checks a launch. CUDA_ERROR_INVALID_VALUE if memory of the last launch is still live, or if what
// it frees is not live.
CUresult check_launch(const Graph& exec);
// Call this after the launch has been given to the stream.
CUresult note_launch(Graph& exec, Stream& stream);
void leave(Graph& exec);
// What the context has launched, and the memory that this left, is gone.
void end_graph_memory(const Context& context);

}  // namespace gpusim
