// Graphs: work that is written down once and launched as often as wanted. A node stands behind
// those it depends on in the order of its graph, which is therefore an order in which to run them;
// nodes run one after the other, also those that could run side by side.
#pragma once

#include "gpusim/cuda/work.hpp"

namespace gpusim {

struct Graph;

// A CUgraphNode points to one.
struct Node {
    CUgraphNodeType type;
    Operation pattern;  // what it does: place, engine, work, deed and what that needs
    Graph* child;       // of a child graph, its own copy
    Node** after;       // that it depends on
    int after_count;
    Node* next;
};

// A CUgraph and a CUgraphExec point to one each, an executable being a copy. Never freed, but for
// its nodes, so that a stale handle is recognised.
struct Graph {
    std::uint32_t mark;  // a graph's or an executable's, while it is one
    Node* first;
    Node* last;
};

Graph* make_graph();
void free_graph(Graph* graph);
// Null without memory.
Node* make_node(CUgraphNodeType type);
// The graph owns it from here on, also where this fails.
CUresult add_node(Graph& graph, Node* node, Node* const* after, std::size_t after_count);
CUresult clone_graph(const Graph& from, Graph** clone);
CUgraph handle_of(Graph* graph);

}  // namespace gpusim
