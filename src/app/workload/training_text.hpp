// Training jobs as tables, text and JSON. The layouts and the names in JSON are Arena's
// (docs/research/arena.md §4.3), with more columns and members.
#pragma once

#include <span>
#include <string>

#include "app/workload/view_text.hpp"
#include "domain/training/training_status.hpp"

namespace tessera {

// `namespaces`: with the column NAMESPACE.
std::string training_table(std::span<const workload::TrainingStatus> jobs, const WorkloadView& view,
                           bool namespaces);
// Name, status, priority, times: what a view of one job begins with.
std::string training_head(const workload::TrainingStatus& job, const WorkloadView& view);
// One job with its pods, and why it waits or has failed.
std::string training_text(const workload::TrainingStatus& job, const WorkloadView& view);
// An array, or the object of one job.
std::string training_list_json(std::span<const workload::TrainingStatus> jobs,
                               const WorkloadView& view);
std::string training_json(const workload::TrainingStatus& job, const WorkloadView& view);

}  // namespace tessera
