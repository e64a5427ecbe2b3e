// What a v1.Pod says of its containers' surroundings: volumes, privileges, RuntimeClass.
#pragma once

#include <vector>

#include "domain/handover/container_setup.hpp"
#include "wire/json.hpp"

namespace tessera {

// Init containers first. Of a volume from the node (hostPath) the source is known, of any other
// only the name. Volumes that kubelet never mounts for writing (ConfigMap, Secret, downward API,
// projected) are read-only. The runtime handler is taken to have the name of the RuntimeClass.
std::vector<ContainerSetup> read_container_setups(JsonValue pod);

}  // namespace tessera
