// Alibaba's trace of 2020, training and inference on PAI (columns: alibaba/clusterdata,
// cluster-trace-gpu-v2020, README). The published tables have no line of column names; tables with
// such a line are read too.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "simulator/traces/openb_csv.hpp"
#include "simulator/traces/trace_task.hpp"

namespace tessera {

// pai_machine_spec: machine, gpu_type, cap_cpu (cores), cap_mem (GB, read as GiB), cap_gpu.
Result<std::vector<OpenbNode>> read_pai_machines(std::string_view text);

// pai_task_table: job_name, task_name, inst_num, status, start_time, end_time (seconds), plan_cpu
// (percent of a core), plan_mem (GB, read as GiB), plan_gpu (percent of a GPU; empty: none),
// gpu_type. Amounts are per instance. Up to 100 percent is a share of one GPU; more than that means
// whole GPUs, rounded up. A task without a start is left out. Errors are invalid_argument and name
// line and column; one error is that all rows together have more than 10 million instances.
Result<std::vector<TraceTask>> read_pai_tasks(std::string_view text);

}  // namespace tessera
