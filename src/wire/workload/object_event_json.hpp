// Events of the cluster (core/v1), as the API server shows them.
#pragma once

#include "domain/workload/object_event.hpp"
#include "wire/text/json.hpp"

namespace tessera::workload {

// What is missing is empty; without a time, the event's own creation counts.
ObjectEvent read_object_event(JsonValue event);

}  // namespace tessera::workload
