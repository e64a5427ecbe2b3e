// The output of the commands that show serving and training jobs.
#pragma once

#include <string>
#include <vector>

#include "app/workload/view_text.hpp"

namespace tessera {

// Whether -o names JSON or YAML. "wide" is the table, which has all columns.
bool is_object(const std::string& output);
// Prints JSON text as JSON or YAML.
void print_json(const std::string& json, const std::string& output);
// The present moment, and these nodes. Without the right to list nodes there are none.
WorkloadView view_of(const std::vector<NodeInventory>& nodes);

}  // namespace tessera
