#include "wire/kube/binding_annotations.hpp"

#include <algorithm>

#include "wire/tessera/allocation_json.hpp"
#include "wire/tessera/keys.hpp"
#include "wire/text/json.hpp"

namespace tessera {
namespace {

using Map = std::map<std::string, std::string, std::less<>>;

// docs/research/gpushare.md §1.3. The index annotation fits one GPU only. Several GPUs go into
// gpushare 2.0's JSON, which upstream's inspect tool reads first.
void add_aliyun(const Allocation& allocation, const NodeInventory& node, std::int64_t unix_ns,
                Map& out) {
    const std::int64_t unit = bytes_per_unit(node.unit).count;
    std::map<GpuUuid, int> indexes;
    JsonWriter w;
    int position = 0;
    w.object([&] {
        for (const ContainerAllocation& container : allocation.containers) {
            w.object(std::to_string(position++), [&] {
                for (const GpuShare& share : container.gpus) {
                    w.member(std::to_string(share.index), share.memory.count / unit);
                    indexes.emplace(share.uuid, share.index);
                }
            });
        }
    });
    std::int64_t total = 0;
    for (const Hold& hold : holds(allocation.containers))
        total += hold.memory.count / unit;
    const GpuShare& first = allocation.containers.front().gpus.front();
    const auto gpu = std::ranges::find(node.gpus, first.uuid, &Gpu::uuid);
    const std::int64_t gpu_units = gpu == node.gpus.end() ? 0 : gpu->capacity().count / unit;
    const bool legacy = node.source == InventorySource::legacy;
    out.emplace(key::kAliyunIndex, std::to_string(first.index));
    out.emplace(key::kAliyunDev, std::to_string(gpu_units));
    out.emplace(key::kAliyunPod, std::to_string(total));
    // gpushare's device plugin picks up the pods that say "false"; our agent does not need the
    // annotation.
    out.emplace(key::kAliyunAssigned, legacy ? "false" : "true");
    out.emplace(key::kAliyunAssumeTime, std::to_string(unix_ns));
    if (indexes.size() > 1) out.emplace(key::kGpushareAllocation, w.take());
}

std::string_view enforced_by(const Allocation& allocation, const NodeInventory& node) {
    if (std::ranges::none_of(allocation.containers, has_share)) return "exclusive";
    return node.shares == EnforcementMode::guard ? key::kGuard : "none";
}

}  // namespace

Map binding_annotations(const Allocation& allocation, const NodeInventory& node,
                        std::int64_t unix_ns, const AllocationSeal* seal) {
    Map out;
    std::string text = write_allocation(allocation);
    if (seal != nullptr) out.emplace(key::kAllocationMac, seal->sign(text));
    out.emplace(key::kAllocation, std::move(text));
    out.emplace(key::kEnforcedBy, enforced_by(allocation, node));
    if (allocation.dialect == DialectId::aliyun) add_aliyun(allocation, node, unix_ns, out);
    return out;
}

}  // namespace tessera
