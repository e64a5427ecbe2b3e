// Volumes with data, as the API server shows them.
#pragma once

#include "domain/workload/data_volume.hpp"
#include "wire/text/json.hpp"

namespace tessera::workload {

// A v1.PersistentVolumeClaim. What is missing or of another type is empty.
DataVolume read_data_volume(JsonValue claim);

}  // namespace tessera::workload
