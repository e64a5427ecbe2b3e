// The gauges of every GPU, in Prometheus text (the text format 0.0.4 of its documentation).
//
// The text is written directly, without the library's objects: a cluster of 5,000 nodes has 240,000
// of these gauges, and the objects took the controller seconds and 200 MB at every scrape
// (extender_bench has today's figures).
#pragma once

#include <string>

#include "domain/cluster/snapshot.hpp"

namespace tessera {

// Each family of metrics.def of kind gpu_gauge, nodes by name. Labels: gpu, node, uuid.
void append_gpu_gauges(std::string& text, const Snapshot& snapshot);

}  // namespace tessera
