#include "domain/allocation/resize.hpp"

#include <algorithm>

namespace tessera {
namespace {

bool has_amounts(const GpuShare& share, const RequestedShares::Container& requested) {
    return share.memory == requested.memory.value_or(share.memory) &&
           share.cores == requested.cores.value_or(share.cores) &&
           share.cores_limit == requested.cores_limit.value_or(share.cores_limit);
}

}  // namespace

bool is_granted(const RequestedShares& requested, const Allocation& allocation) {
    return std::ranges::all_of(requested.containers, [&](const RequestedShares::Container& wanted) {
        const ContainerAllocation* has = find_container(allocation, wanted.name);
        return has != nullptr && std::ranges::all_of(has->gpus, [&](const GpuShare& share) {
                   return !share.whole && has_amounts(share, wanted);
               });
    });
}

bool is_resize_of(const Allocation& before, const Allocation& after) {
    const auto is_same_share = [](const GpuShare& a, const GpuShare& b) {
        return a.uuid == b.uuid && a.index == b.index && a.whole == b.whole;
    };
    const auto is_same = [&](const ContainerAllocation& a, const ContainerAllocation& b) {
        return a.container == b.container && a.kind == b.kind &&
               std::ranges::equal(a.gpus, b.gpus, is_same_share);
    };
    return after.revision > before.revision && after.pod == before.pod &&
           after.node == before.node && after.dialect == before.dialect &&
           std::ranges::equal(before.containers, after.containers, is_same);
}

}  // namespace tessera
