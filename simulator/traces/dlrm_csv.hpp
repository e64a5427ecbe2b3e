// Alibaba's trace of 2025, inference of recommendation models on disaggregated GPUs
// (disaggregated_DLRM_trace.csv; its columns: alibaba/clusterdata, cluster-trace-gpu-v2025,
// README).
#pragma once

#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "simulator/traces/trace_task.hpp"

namespace tessera {

// Columns: instance_sn, role, app_name, cpu_request (cores), gpu_request (whole GPUs),
// memory_request (GiB), max_instance_per_node (of its application; -1: any number), creation_time,
// scheduled_time, deletion_time (seconds). A time that is "NaN" or empty lies outside the trace, so
// the run time of the instance is unknown. Only role HN is read: instances of role CN run on nodes
// of their own, without GPUs. Errors are invalid_argument and name line and column.
Result<std::vector<TraceTask>> read_dlrm_instances(std::string_view text);

}  // namespace tessera
