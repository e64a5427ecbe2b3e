#include "app/agent/excess.hpp"

#include <algorithm>

namespace tessera {

std::map<GpuUuid, Bytes> excess_by_card(const std::vector<ShareUse>& uses) {
    std::map<GpuUuid, Bytes> excess;
    for (const ShareUse& use : uses) {
        if (!use.is_damaged && use.held > use.limit) excess[use.card] += use.held - use.limit;
    }
    return excess;
}

NodeInventory with_excess(NodeInventory node, const std::map<GpuUuid, Bytes>& excess) {
    for (Gpu& gpu : node.gpus) {
        const auto of = excess.find(gpu.uuid);
        if (of != excess.end()) gpu.excess = std::min(gpu.capacity(), of->second);
    }
    return node;
}

}  // namespace tessera
