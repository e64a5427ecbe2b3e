// What the init containers share that prepare a folder for the main container. Each function writes
// into the object or array that is being written.
#pragma once

#include <string_view>

#include "domain/workload/pod_template.hpp"
#include "wire/text/json.hpp"

namespace tessera::workload {

// An entry of volumeMounts.
void write_mount(JsonWriter& w, std::string_view volume, std::string_view path, bool read_only);
// The member `resources`, with the main container's CPU and memory: the pod requests the larger of
// both.
void write_init_amounts(JsonWriter& w, const PodTemplate& pod);
// The member `securityContext` of a container that needs no right, as this user.
void write_init_security(JsonWriter& w, int user);

}  // namespace tessera::workload
