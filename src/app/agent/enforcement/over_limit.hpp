// Memory that containers use above their limits. A lowered limit frees no memory, so the GPU cannot
// offer that memory to other pods until the containers free it.
#pragma once

#include <map>
#include <vector>

#include "domain/cluster/node.hpp"
#include "domain/usage/share_use.hpp"

namespace tessera {

// GPUs without such memory have no entry. Damaged accounts are ignored.
std::map<GpuUuid, Bytes> over_limit_by_gpu(const std::vector<ShareUse>& uses);

// The node as the scheduler sees it. The amount is never more than the GPU's capacity: tenants can
// write the accounts, so their sum may be too large.
NodeInventory with_over_limit(NodeInventory node, const std::map<GpuUuid, Bytes>& over_limit);

}  // namespace tessera
