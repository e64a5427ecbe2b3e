// gpushare's inspect answer (docs/research/gpushare.md §2.8): GPUs and their pods, with amounts in
// each node's own unit. Nodes, GPUs and pods are sorted; the original's order was random.
#pragma once

#include <span>
#include <string>

#include "domain/cluster/snapshot.hpp"

namespace tessera {

std::string write_inspect(std::span<const NodeInfo* const> nodes);

}  // namespace tessera
