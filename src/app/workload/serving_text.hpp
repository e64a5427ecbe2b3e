// Serving jobs as tables, text and JSON. The layouts and the names in JSON are Arena's
// (docs/research/arena.md §4.4), with more columns and members.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "domain/cluster/node.hpp"
#include "domain/workload/serving_status.hpp"

namespace tessera {

// Ages count up to `now_s`, in seconds since 1970. `nodes`: for the sizes of GPUs; may be empty,
// and then the column GPU counts whole GPUs only.
struct ServingView {
    std::span<const NodeInventory> nodes;
    std::int64_t now_s = 0;
};

// `namespaces`: with the column NAMESPACE.
std::string serving_table(std::span<const workload::ServingStatus> jobs, const ServingView& view,
                          bool namespaces);
// One job with its pods, and why it waits.
std::string serving_text(const workload::ServingStatus& job, const ServingView& view);
// NAME, TYPE and VERSION, for a choice among several.
std::string serving_choice_table(std::span<const workload::ServingStatus> jobs);
// An array, or the object of one job.
std::string serving_list_json(std::span<const workload::ServingStatus> jobs,
                              const ServingView& view);
std::string serving_json(const workload::ServingStatus& job, const ServingView& view);

// One unit: 12s, 3m, 5h, 2d, 1y.
std::string age_text(std::int64_t seconds);

}  // namespace tessera
