// CPU and memory as Kubernetes objects state them.
#pragma once

#include "domain/request/host_ask.hpp"
#include "wire/json.hpp"

namespace tessera {

// By the requests of a v1.PodSpec, as the scheduler counts them: the app containers and sidecars
// together, or what an init container takes with the sidecars that began before it, whichever is
// more; the overhead; the pod's own resources in place of all containers' where it states them
// (source: k8s.io/component-helpers/resource, PodRequests). What cannot be read counts nothing:
// the API server has refused it before.
HostAsk read_host_ask(JsonValue pod_spec);

// A list of amounts, such as a node's status.allocatable.
HostAsk read_host_amounts(JsonValue amounts);

}  // namespace tessera
