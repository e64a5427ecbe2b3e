// The annotations that are written with a Binding: Tessera's own, and those that users of the pod's
// dialect rely on.
#pragma once

#include <cstdint>

#include "base/string_map.hpp"
#include "domain/allocation/allocation.hpp"
#include "domain/cluster/node.hpp"
#include "wire/tessera/allocation_seal.hpp"

namespace tessera {

// The allocation, and what users of its dialect rely on. A resize writes these alone, because the
// enforcers of a pod stay those with which it started. As binding_annotations().
StringMap allocation_annotations(const Allocation& allocation, const NodeInventory& node,
                                 std::int64_t unix_ns, const AllocationSeal* seal);

// `unix_ns` is the time of the decision, which the annotations of some dialects contain. Without a
// seal the allocation is not signed.
StringMap binding_annotations(const Allocation& allocation, const NodeInventory& node,
                              std::int64_t unix_ns, const AllocationSeal* seal);

}  // namespace tessera
