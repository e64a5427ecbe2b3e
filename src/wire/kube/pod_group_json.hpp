// A PodGroup of scheduling.k8s.io, with the feature GenericWorkload: v1beta1 of Kubernetes 1.37, or
// v1alpha2 of 1.36. The fields that we read are the same in both.
#pragma once

#include <array>

#include "domain/cluster/pod_group.hpp"
#include "wire/text/json.hpp"

namespace tessera {

// The API paths of the pod groups in all namespaces, newest first. A server has at most one of
// them, and none without that feature.
inline constexpr std::array<const char*, 2> kPodGroupsPaths{
    "/apis/scheduling.k8s.io/v1beta1/podgroups", "/apis/scheduling.k8s.io/v1alpha2/podgroups"};

// A PodGroup whose policy we do not know requires nothing.
PodGroup read_pod_group(JsonValue json);

}  // namespace tessera
