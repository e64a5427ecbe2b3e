// The pods of serving and training jobs, as the API server shows them.
#pragma once

#include <cstdint>
#include <string>

#include "domain/workload/gpu_flags.hpp"
#include "domain/workload/workload_pod.hpp"
#include "wire/text/json.hpp"

namespace tessera::workload {

// A v1 Pod.
WorkloadPod read_workload_pod(JsonValue pod);
// Its status, as in kubectl's column STATUS.
std::string read_pod_status(JsonValue pod);

// What a container with these limits requests; unreadable amounts count as 0.
Gpus read_gpus(JsonValue limits);
// Seconds since 1970 of the object's creation.
std::int64_t read_created(JsonValue object);
// A number of pods; 0 if it is missing.
int read_count(JsonValue value);

}  // namespace tessera::workload
