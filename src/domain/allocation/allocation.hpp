// An allocation: which GPUs each container of a pod has, and how much of each. The controller
// decides it, and the pod's annotation carries it (wire/tessera/allocation_json.hpp). All programs
// count by it. The GPUs stay the same for the pod's life; the amounts may change (resize.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/quantity.hpp"
#include "domain/request/gpu_request.hpp"

namespace tessera {

// A share of one GPU.
struct GpuShare {
    GpuUuid uuid;
    int index = 0;  // the GPU's index at the time of the allocation; the uuid is the identity
    Bytes memory;
    Percent cores;
    bool whole = false;                   // the whole GPU, whatever its size
    Percent cores_limit = kNoCoresLimit;  // the most of the GPU's time that the container gets
    bool mps = false;  // MPS limits the compute, to `cores` of the GPU's multiprocessors

    friend bool operator==(const GpuShare&, const GpuShare&) = default;
};

struct ContainerAllocation {
    std::string container;
    ContainerKind kind = ContainerKind::app;
    std::vector<GpuShare> gpus;

    friend bool operator==(const ContainerAllocation&, const ContainerAllocation&) = default;
};

struct Allocation {
    PodUid pod;
    NodeName node;
    const Dialect* dialect = &kNativeDialect;     // never null
    std::vector<ContainerAllocation> containers;  // in the order of the ContainerRequests
    std::int64_t revision = 0;                    // plus one with each resize (resize.hpp)

    friend bool operator==(const Allocation&, const Allocation&) = default;
};

// Null if the allocation has no such container.
const ContainerAllocation* find_container(const Allocation& allocation, std::string_view name);
// Whether it has a part of a GPU, which must be enforced. Whole GPUs need no enforcement.
bool has_share(const ContainerAllocation& container);
bool uses_mps(const Allocation& allocation);

// What a pod has of one GPU at its peak.
struct GpuAllocation {
    GpuUuid uuid;
    Bytes memory;
    Percent cores;
    bool mps = false;  // GpuShare::mps, which is the same for all shares of a pod

    friend bool operator==(const GpuAllocation&, const GpuAllocation&) = default;
};

// The peak over the pod's life, per GPU. An init container has its share together with the sidecars
// that started before it, and releases it before the app containers start (the rule of Kubernetes
// for ordinary resources). Ascending by uuid.
std::vector<GpuAllocation> allocated_by_gpu(const std::vector<ContainerAllocation>& containers);

// The larger amounts of both, per GPU. Ascending by uuid, as both inputs are.
std::vector<GpuAllocation> larger(const std::vector<GpuAllocation>& a,
                                  const std::vector<GpuAllocation>& b);

}  // namespace tessera
