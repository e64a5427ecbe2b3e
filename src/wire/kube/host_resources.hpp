// CPU, memory and the GPUs of other products in Kubernetes objects.
#pragma once

#include <set>
#include <string>

#include "domain/request/host_request.hpp"
#include "wire/text/json.hpp"

namespace tessera {

// The requests of a v1.PodSpec, as kube-scheduler computes them: the sum of app containers and
// sidecars, or an init container with the sidecars that started before it, whichever is more; plus
// the overhead. Resources of the pod itself replace those of its containers (source:
// k8s.io/component-helpers/resource, PodRequests). An amount that cannot be read counts as zero:
// the API server has already refused it.
HostRequest read_host_request(JsonValue pod_spec);

// The resources of a v1.Pod's containers by which other products assign GPUs.
std::set<std::string> read_foreign_requests(JsonValue pod);

// A list of amounts, such as a node's status.allocatable.
HostRequest read_host_amounts(JsonValue amounts);

}  // namespace tessera
