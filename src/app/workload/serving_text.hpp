// Serving jobs as tables, text and JSON. The layouts and the names in JSON are Arena's
// (docs/research/arena.md §4.4), with more columns and members.
#pragma once

#include <span>
#include <string>

#include "app/workload/view_text.hpp"
#include "domain/serving/serving_status.hpp"

namespace tessera {

// `namespaces`: with the column NAMESPACE.
std::string serving_table(std::span<const workload::ServingStatus> jobs, const WorkloadView& view,
                          bool namespaces);
// One job with its pods, and why it waits.
std::string serving_text(const workload::ServingStatus& job, const WorkloadView& view);
// NAME, TYPE and VERSION, for a choice among several.
std::string serving_choice_table(std::span<const workload::ServingStatus> jobs);
// An array, or the object of one job.
std::string serving_list_json(std::span<const workload::ServingStatus> jobs,
                              const WorkloadView& view);
std::string serving_json(const workload::ServingStatus& job, const WorkloadView& view);

}  // namespace tessera
