// A PodGroup of scheduling.k8s.io/v1alpha2 (Kubernetes 1.36, feature GenericWorkload).
#pragma once

#include "domain/cluster/pod_group.hpp"
#include "wire/json.hpp"

namespace tessera {

// Where the API has those of all namespaces; nowhere without that feature.
inline constexpr const char* kPodGroupsPath = "/apis/scheduling.k8s.io/v1alpha2/podgroups";

// One whose policy says nothing that we know asks for nothing.
PodGroup read_pod_group(JsonValue json);

}  // namespace tessera
