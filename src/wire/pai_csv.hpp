// Alibaba's trace of 2020, training and inference on PAI (its columns: alibaba/clusterdata,
// cluster-trace-gpu-v2020, README). The tables come without a first line of column names; one that
// has it is read too.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "wire/openb_csv.hpp"
#include "wire/trace_task.hpp"

namespace tessera {

// pai_machine_spec: machine, gpu_type, cap_cpu (cores), cap_mem (GB, read as GiB), cap_gpu.
Result<std::vector<OpenbNode>> read_pai_machines(std::string_view text);

// pai_task_table: job_name, task_name, inst_num, status, start_time, end_time (seconds), plan_cpu
// (percent of a core), plan_mem (GB, read as GiB), plan_gpu (percent of a GPU; empty: none),
// gpu_type. Amounts are of one instance. Up to 100 percent are a share of one card; above that,
// whole cards, rounded up. A task without a start is left out. Errors are invalid_argument and name
// line and column; one of them is that all rows together have more than 10 million instances.
Result<std::vector<TraceTask>> read_pai_tasks(std::string_view text);

}  // namespace tessera
