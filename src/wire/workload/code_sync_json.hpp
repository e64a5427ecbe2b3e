// The container that copies code from git into a pod, as JSON: parts of a PodSpec.
#pragma once

#include "domain/workload/pod_template.hpp"
#include "wire/text/json.hpp"

namespace tessera::workload {

// Each writes nothing without pod.code.
//
// An item of the array `initContainers` of the PodSpec. It has the limits of CPUs and memory of the
// main container, but no GPU, and does not run as root.
void write_code_container(JsonWriter& w, const PodTemplate& pod);
// Items of the arrays `volumeMounts` of the main container, and `volumes`.
void write_code_mount(JsonWriter& w, const PodTemplate& pod);
void write_code_volumes(JsonWriter& w, const PodTemplate& pod);

}  // namespace tessera::workload
