// The surroundings of a v1.Pod's containers: volumes, privileges, RuntimeClass.
#pragma once

#include <vector>

#include "domain/container_start/container_setup.hpp"
#include "wire/text/json.hpp"

namespace tessera {

// Init containers come first. For a volume from the node (hostPath) the source is known, for any
// other only the name. Volumes that kubelet never mounts writable (ConfigMap, Secret, downward API,
// projected) are read-only. The runtime handler is assumed to have the name of the RuntimeClass.
std::vector<ContainerSetup> read_container_setups(JsonValue pod);

}  // namespace tessera
