#include "app/agent/enforcement/over_limit.hpp"

#include <algorithm>

namespace tessera {

std::map<GpuUuid, Bytes> over_limit_by_gpu(const std::vector<ShareUse>& uses) {
    std::map<GpuUuid, Bytes> over_limit;
    for (const ShareUse& use : uses) {
        if (!use.is_damaged && use.used > use.limit) over_limit[use.gpu] += use.used - use.limit;
    }
    return over_limit;
}

NodeInventory with_over_limit(NodeInventory node, const std::map<GpuUuid, Bytes>& over_limit) {
    for (Gpu& gpu : node.gpus) {
        const auto of = over_limit.find(gpu.uuid);
        if (of != over_limit.end()) gpu.over_limit = std::min(gpu.capacity(), of->second);
    }
    return node;
}

}  // namespace tessera
