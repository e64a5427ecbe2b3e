// The gauges of every card, in Prometheus text (the text format 0.0.4 of its documentation).
//
// Written as they are, and not made of the library's objects first: a cluster of 5,000 nodes has
// 240,000 of these, which took the controller seconds and 200 MB at every scrape (extender_bench
// has today's figures).
#pragma once

#include <string>

#include "domain/cluster/view.hpp"

namespace tessera {

// Each family of metrics.def of that kind, nodes by name. Labels: gpu, node, uuid.
void append_card_gauges(std::string& text, const ClusterView& view);

}  // namespace tessera
