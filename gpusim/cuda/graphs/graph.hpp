// Graphs: work that is recorded once and launched many times. In the order of its graph, a node
// comes after those it depends on, so nodes can run in that order. They run one after the other,
// also if they could run side by side.
#pragma once

#include "gpusim/cuda/work/work.hpp"

namespace gpusim {

struct Graph;
struct GraphAllocation;

// A CUgraphNode points to one.
struct Node {
    CUgraphNodeType type;
    Operation pattern;        // what it does: place, engine, work, deed and what that needs
    Graph* child;             // its own copy, for a child graph node
    GraphAllocation* memory;  // what it allocates or frees (graph_memory.hpp)
    Node** after;             // the nodes that it depends on
    int after_count;
    Node* next;
};

// A CUgraph and a CUgraphExec point to one each; an executable is a copy. Never freed, except its
// nodes, so that a stale handle is recognised.
struct Graph {
    std::uint32_t mark;  // of a graph or an executable, while it is one
    Node* first;
    Node* last;
    // If its nodes allocate or free. For a graph: its executable, of which there may be only one.
    // For an executable: what the GPU has given for it, by CUdevice.
    Graph* exec;
    int overhead_gpu;              // for an executable: the GPU that has its overhead
    std::uint64_t overhead_bytes;  // whole allocation units
    bool frees_itself;             // frees before each launch what was not freed
    std::uint64_t backed[kMaxGpus];
    Operation* last_launch;  // a marker after the last launch, with a reference
    const Context* launched_in;
    Graph* next_exec;
};

Graph* make_graph();
// Null for an invalid handle.
Graph* find_graph(CUgraph handle);
void free_graph(Graph* graph);
// Null if there is no memory.
Node* make_node(CUgraphNodeType type);
// The graph owns the node from here on, also if this fails.
CUresult add_node(Graph& graph, Node* node, Node* const* after, std::size_t after_count);
// The same by handles, which are checked by lookup; the node is freed if this fails. A null node
// means that there was no memory.
CUresult add(CUgraphNode* handle, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
             Node* node);
// Nodes that allocate and free memory (graph_memory_nodes.cpp).
CUresult make_allocation_node(const Graph& graph, CUdevice device, std::size_t bytes, Node** node);
CUresult make_free_node(const Graph& graph, CUdeviceptr pointer, Node** node);
void free_node(Node* node);
CUresult clone_graph(const Graph& from, Graph** clone);
CUgraph handle_of(Graph* graph);

}  // namespace gpusim
