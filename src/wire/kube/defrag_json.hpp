// The parts of Kubernetes objects that only `tessera defrag` reads, in addition to
// kube_objects.hpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "domain/defrag/movable.hpp"
#include "domain/defrag/pod_scheduling.hpp"
#include "wire/text/json.hpp"

namespace tessera {

// A v1.Pod. Never fails: a node rule that cannot be understood is one that no node matches.
defrag::PodState read_pod_state(JsonValue pod);

// A v1.Pod.
defrag::PodScheduling read_pod_scheduling(JsonValue pod);

// A policy/v1 PodDisruptionBudget. Never fails: a selector that cannot be understood selects
// nothing, and a budget whose status is behind its spec allows no eviction.
defrag::Budget read_budget(JsonValue budget);

// The uid of a batch/v1 Job that creates no new pod before the old one is gone; nothing for any
// other Job.
std::optional<std::string> read_waiting_job(JsonValue job);

// The reason in a Status with which the server refuses an Eviction: its message, and for a
// PodDisruptionBudget also which budget.
std::string eviction_refusal(std::string_view body);

}  // namespace tessera
