// How a pod gets tessera-mpi-shell (MpiShell of pod_template.hpp), as JSON. Each function writes
// into the array that is being written, if the pod has one.
#pragma once

#include "domain/workload/pod_template.hpp"
#include "wire/text/json.hpp"

namespace tessera::workload {

// An init container, of the pod's initContainers.
void write_shell_container(JsonWriter& w, const PodTemplate& pod);
// Of the main container's volumeMounts.
void write_shell_mounts(JsonWriter& w, const PodTemplate& pod);
// Of the pod's volumes.
void write_shell_volumes(JsonWriter& w, const PodTemplate& pod);

}  // namespace tessera::workload
