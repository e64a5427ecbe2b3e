// gpushare's inspect answer (docs/research/gpushare.md §2.8): cards and their pods, amounts in each
// node's own unit. Nodes, cards and pods are sorted, where the original's order was random.
#pragma once

#include <span>
#include <string>

#include "domain/cluster/view.hpp"

namespace tessera {

std::string write_inspect(std::span<const NodeView* const> nodes);

}  // namespace tessera
