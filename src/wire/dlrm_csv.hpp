// Alibaba's trace of 2025, inference of recommendation models on disaggregated GPUs
// (disaggregated_DLRM_trace.csv; its columns: alibaba/clusterdata, cluster-trace-gpu-v2025,
// README).
#pragma once

#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "wire/trace_task.hpp"

namespace tessera {

// instance_sn, role, app_name, cpu_request (cores), gpu_request (whole GPUs), memory_request (GiB),
// max_instance_per_node (of its application; -1: any number), creation_time, scheduled_time,
// deletion_time (seconds; "NaN" or empty: outside the trace, so that nobody tells how long the
// instance ran). Only role HN: instances of role CN are on nodes of their own, without GPUs. Errors
// are invalid_argument and name line and column.
Result<std::vector<TraceTask>> read_dlrm_instances(std::string_view text);

}  // namespace tessera
