// What `tessera defrag` reads of Kubernetes objects, beyond kube_objects.hpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "domain/defrag/movable.hpp"
#include "domain/defrag/node_rules.hpp"
#include "wire/json.hpp"

namespace tessera {

// A v1.Pod. Never fails: a rule about its nodes that makes no sense is one that no node meets.
defrag::PodState read_pod_state(JsonValue pod);

// A policy/v1 PodDisruptionBudget. Never fails: a selector that makes no sense is none, and a
// status that is behind the spec allows nothing.
defrag::Budget read_budget(JsonValue budget);

// The uid of a batch/v1 Job that makes no other pod before the old one is gone; nothing of another.
std::optional<std::string> read_waiting_job(JsonValue job);

// Of a v1.Node.
defrag::NodeTraits read_node_traits(JsonValue node);

// In what words a Status, the answer to an Eviction, refuses it: the server's message, and of a
// PodDisruptionBudget also which.
std::string eviction_refusal(std::string_view body);

}  // namespace tessera
