// Graphs: work that is written down once and launched as often as wanted. A node stands behind
// those it depends on in the order of its graph, which is therefore an order in which to run them;
// nodes run one after the other, also those that could run side by side.
#pragma once

#include "gpusim/cuda/work/work.hpp"

namespace gpusim {

struct Graph;
struct GraphAllocation;

// A CUgraphNode points to one.
struct Node {
    CUgraphNodeType type;
    Operation pattern;        // what it does: place, engine, work, deed and what that needs
    Graph* child;             // of a child graph, its own copy
    GraphAllocation* memory;  // that it allocates or frees (graph_memory.hpp)
    Node** after;             // that it depends on
    int after_count;
    Node* next;
};

// A CUgraph and a CUgraphExec point to one each, an executable being a copy. Never freed, but for
// its nodes, so that a stale handle is recognised.
struct Graph {
    std::uint32_t mark;  // a graph's or an executable's, while it is one
    Node* first;
    Node* last;
    // Where its nodes allocate or free. Of a graph: its executable, of which there may be one. Of
    // an executable: what the card has given up for it, by CUdevice.
    Graph* exec;
    int overhead_card;             // of an executable: where it took so much by itself
    std::uint64_t overhead_bytes;  // whole granules
    bool frees_itself;             // what was not freed, before each launch
    std::uint64_t backed[kMaxCards];
    Operation* last_launch;  // a marker behind it, referred to
    const Context* launched_in;
    Graph* next_exec;
};

Graph* make_graph();
// Null for a handle that is none.
Graph* find_graph(CUgraph handle);
void free_graph(Graph* graph);
// Null without memory.
Node* make_node(CUgraphNodeType type);
// The graph owns it from here on, also where this fails.
CUresult add_node(Graph& graph, Node* node, Node* const* after, std::size_t after_count);
// The same by handles, which are checked by being found; the node is freed where this fails. A null
// node is "without memory".
CUresult add(CUgraphNode* handle, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
             Node* node);
// Nodes that allocate and free memory (graph_memory_nodes.cpp).
CUresult make_allocation_node(const Graph& graph, CUdevice device, std::size_t bytes, Node** node);
CUresult make_free_node(const Graph& graph, CUdeviceptr pointer, Node** node);
void free_node(Node* node);
CUresult clone_graph(const Graph& from, Graph** clone);
CUgraph handle_of(Graph* graph);

}  // namespace gpusim
