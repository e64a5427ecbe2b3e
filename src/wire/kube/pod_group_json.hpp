// A PodGroup of scheduling.k8s.io/v1alpha2 (Kubernetes 1.36, feature GenericWorkload).
#pragma once

#include "domain/cluster/pod_group.hpp"
#include "wire/text/json.hpp"

namespace tessera {

// The API path of the pod groups in all namespaces; it does not exist without that feature.
inline constexpr const char* kPodGroupsPath = "/apis/scheduling.k8s.io/v1alpha2/podgroups";

// A PodGroup whose policy we do not know requires nothing.
PodGroup read_pod_group(JsonValue json);

}  // namespace tessera
