// What `tessera doctor` reads of Kubernetes objects, beyond kube_objects.hpp.
#pragma once

#include "domain/doctor/facts.hpp"
#include "wire/allocation_seal.hpp"
#include "wire/json.hpp"

namespace tessera {

// A v1.Node; agents are told later. `selector`: the DaemonSet's nodeSelector; absent when unknown.
doctor::Node read_doctor_node(JsonValue node, JsonValue selector);
// A v1.Pod. With a seal, an allocation that it has not signed is an error.
doctor::Pod read_doctor_pod(JsonValue pod, const AllocationSeal* seal);
// A Deployment or DaemonSet.
doctor::Workload read_workload(JsonValue json);
// Whether a pod is a ready one of the agent's.
bool is_ready_agent(JsonValue pod);
// The command of kube-scheduler's container in its pod.
std::vector<std::string> read_command(JsonValue pod);

// What a Deployment's first container is told by --policy; the default where it is told nothing.
std::string read_policy_flag(JsonValue deployment);

}  // namespace tessera
