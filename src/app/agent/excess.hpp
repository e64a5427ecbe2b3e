// What containers hold of a card above their limits: a limit that was lowered takes nothing away,
// so the card does not have that memory for anybody else until they let go of it.
#pragma once

#include <map>
#include <vector>

#include "domain/cluster/node.hpp"
#include "domain/usage/share_use.hpp"

namespace tessera {

// No entry where there is none. Damaged accounts say nothing.
std::map<GpuUuid, Bytes> excess_by_card(const std::vector<ShareUse>& uses);

// As the node is to be seen by who places pods. Never more than a card has: tenants write the
// accounts, and what some say together may be more.
NodeInventory with_excess(NodeInventory node, const std::map<GpuUuid, Bytes>& excess);

}  // namespace tessera
