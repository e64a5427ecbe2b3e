// What the views of a cluster read of nodes and pods beside GPU shares. No text makes a function
// throw; what is missing or of another type is empty or 0.
#pragma once

#include "domain/usage/cluster_facts.hpp"
#include "wire/text/json.hpp"

namespace tessera {

// Of a v1.Node.
ShownNode read_shown_node(JsonValue node);
// Of a v1.Pod. As the scheduler counts: the containers together, or the largest init container if
// that requests more.
ShownPod read_shown_pod(JsonValue pod);

}  // namespace tessera
