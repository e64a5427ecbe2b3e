#include "wire/kube/binding_annotations.hpp"

#include <algorithm>

#include "domain/cluster/memory_enforcement.hpp"
#include "domain/dialect/dialect.hpp"
#include "wire/tessera/allocation_json.hpp"
#include "wire/tessera/keys.hpp"

namespace tessera {
namespace {

// The agent limits memory by the same enforcer or a stronger one, or refuses to start the container
// (Enforcers::choose).
std::string_view enforced_by(const Allocation& allocation, const NodeInventory& node) {
    if (std::ranges::none_of(allocation.containers, has_share)) return key::kExclusive;
    if (uses_mps(allocation)) return key::kEnforcedByGuardAndMps;
    if (node.shares == EnforcementMode::none) return key::kEnforcedByNothing;
    return driver_limits_memory(allocation, node) ? key::kEnforcedByDriverAndGuard
                                                  : key::kEnforcedByGuard;
}

}  // namespace

StringMap allocation_annotations(const Allocation& allocation, const NodeInventory& node,
                                 std::int64_t unix_ns, const AllocationSeal* seal) {
    StringMap out;
    std::string text = write_allocation(allocation);
    if (seal != nullptr) out.emplace(key::kAllocationMac, seal->sign(text));
    out.emplace(key::kAllocation, std::move(text));
    if (allocation.dialect->annotate != nullptr)
        allocation.dialect->annotate(allocation, node, unix_ns, out);
    return out;
}

StringMap binding_annotations(const Allocation& allocation, const NodeInventory& node,
                              std::int64_t unix_ns, const AllocationSeal* seal) {
    StringMap out = allocation_annotations(allocation, node, unix_ns, seal);
    out.emplace(key::kEnforcedBy, enforced_by(allocation, node));
    return out;
}

}  // namespace tessera
