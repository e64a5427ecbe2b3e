// The GPUs of training jobs. The layouts are Arena's (docs/research/arena.md §4.2), with more
// columns.
#pragma once

#include <span>
#include <string>

#include "app/cli/share_table.hpp"
#include "app/workload/view_text.hpp"
#include "domain/training/training_status.hpp"

namespace tessera {

// One line per job, those with most GPUs first, and the sums of the jobs that run. `namespaces`:
// with the column NAMESPACE.
std::string job_table(std::span<const workload::TrainingStatus> jobs, const WorkloadView& view,
                      bool namespaces);
// One job with the GPUs of each pod, and how they are used as far as `uses` has them.
std::string job_details(const workload::TrainingStatus& job, const WorkloadView& view,
                        std::span<const ShareLine> uses);

// The section "GPUs:" of `get --gpus`: the GPUs of each pod, and how they are used.
std::string job_gpus(const workload::TrainingStatus& job, const WorkloadView& view,
                     std::span<const ShareLine> uses);

}  // namespace tessera
