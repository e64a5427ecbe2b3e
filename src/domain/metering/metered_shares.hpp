// What a pod is charged for, as long as it has its allocation.
#pragma once

#include <compare>
#include <span>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/quantity.hpp"
#include "domain/allocation/allocation.hpp"
#include "domain/budget/usage_record.hpp"
#include "domain/cluster/node.hpp"

namespace tessera {

// What one container counts for on one GPU: the part of a UsageRecord that does not change with
// time.
struct MeteredShare {
    std::string container;
    GpuUuid gpu;
    std::string model;
    Bytes memory;
    Bytes capacity;
    Percent compute;
    bool whole = false;

    friend auto operator<=>(const MeteredShare&, const MeteredShare&) = default;
};

// The pod's shares, of all of its containers, such that on each GPU they are together what the pod
// has reserved there (allocated_by_gpu): app containers and sidecars count for their own shares. If
// the init containers need more at a time, one of them counts for the rest. A GPU that a container
// has as a whole counts once. Ascending by container and GPU.
//
// The capacity is the memory for all shares of the GPU together. GPUs that are not in `gpus`, or
// whose memory is not known, are left out.
std::vector<MeteredShare> metered_shares(const Allocation& allocation, std::span<const Gpu> gpus);

UsageRecord usage_record(const PodUid& pod, const PodName& name, Window time,
                         const MeteredShare& share);
MeteredShare share_of(const UsageRecord& record);

}  // namespace tessera
