// The parts of Kubernetes objects that only `tessera doctor` reads, in addition to
// kube_objects.hpp.
#pragma once

#include <string>

#include "domain/doctor/facts.hpp"
#include "wire/tessera/allocation_seal.hpp"
#include "wire/text/json.hpp"

namespace tessera {

// A v1.Node; whether its agent is ready is filled in later. `agent`: the spec of the DaemonSet's
// pods; absent if unknown.
doctor::Node read_doctor_node(JsonValue node, JsonValue agent);
// A v1.Pod. With a seal, an allocation that the seal has not signed is an error.
doctor::Pod read_doctor_pod(JsonValue pod, const AllocationSeal* seal);
// What the containers of a v1.Pod run, init containers first.
std::vector<doctor::Program> read_programs(JsonValue pod);
// The devices that are allocated to a ResourceClaim.
std::vector<doctor::Claim> read_claim(JsonValue claim);
// A ClusterPolicy of NVIDIA's GPU Operator.
doctor::GpuOperator read_cluster_policy(JsonValue policy);
// A Deployment or DaemonSet.
doctor::Workload read_workload(JsonValue json);
// An APIService (apiregistration.k8s.io/v1) of custom.metrics.k8s.io.
doctor::MetricsApi read_metrics_api(JsonValue json);
// Whether this is a ready pod of the agent.
bool is_ready_agent(JsonValue pod);
// The command line of kube-scheduler's container in its pod.
std::vector<std::string> read_command(JsonValue pod);

// What the Deployment tessera-controller says.
struct ControllerFlags {
    std::string policy;  // --policy; the default policy if the flag is missing
    std::string
        scheduler;  // mode=scheduler: the only kube-scheduler that calls it. Empty: not known

    friend bool operator==(const ControllerFlags&, const ControllerFlags&) = default;
};
// The flags of a Deployment's first container.
ControllerFlags read_controller_flags(JsonValue deployment);

}  // namespace tessera
