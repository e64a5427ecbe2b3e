// A node as the controller sees it: its GPUs, and how much of each is allocated.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/quantity.hpp"
#include "domain/cluster/links.hpp"
#include "domain/cluster/node_rules.hpp"
#include "domain/request/gpu_request.hpp"
#include "domain/request/host_request.hpp"

namespace tessera {

// Whether a GPU can be assigned. A fault makes it unhealthy and fires an alert. A GPU that is set
// up for another use, or whose size is unknown, has no fault, but is not assigned either.
enum class GpuCondition { healthy, unhealthy, not_shareable };

// "healthy", "unhealthy", "not shareable".
std::string_view words_of(GpuCondition condition);

// For a GPU whose driver does not report a minor number.
inline constexpr int kMinorUnknown = -1;

// One physical GPU, as its node's agent reports it (docs/formats/node-gpus.md).
struct Gpu {
    GpuUuid uuid;
    int index = 0;              // the driver's enumeration order
    int minor = kMinorUnknown;  // /dev/nvidia<minor>; may differ from the index
    std::string model;
    Bytes memory;      // physical; 0: unknown, and the GPU is not usable
    Bytes reserved;    // for the driver itself
    Bytes over_limit;  // part of the capacity: used by containers above limits that were lowered
    GpuCondition condition = GpuCondition::healthy;
    std::string reason;  // why it is unhealthy or not shareable, and what to do
    GpuLinks links;
    bool offers_mps = false;  // pods with Isolation::mps may be placed on it
    // The driver limits the memory of containers without MPS on it.
    bool limits_memory = false;
    int multiprocessors = 0;  // 0: unknown, as always outside its agent
    // Pods that are to be evicted: their programs took the GPU from all programs with NVIDIA MPS
    // too often (mps_evict_after of the agent). Ascending.
    std::vector<PodUid> mps_offenders;

    // The memory for all shares together.
    [[nodiscard]] Bytes capacity() const { return memory - reserved; }
    [[nodiscard]] bool usable() const { return condition == GpuCondition::healthy; }

    friend bool operator==(const Gpu&, const Gpu&) = default;
};

// How a node enforces the GPU shares of containers: docs/internals/guard.md.
enum class EnforcementMode { none, guard };

// Where the list of GPUs comes from. A legacy node runs gpushare's device plugin: its GPUs are
// equal, computed from the plugin's sums, and known by index only (docs/research/gpushare.md §1.1).
enum class InventorySource { agent, legacy };

// The largest memory size that a report may contain; no GPU has that much.
inline constexpr Bytes kMostGpuMemory{std::int64_t{1} << 50};

// What a node reports of itself.
struct NodeInventory {
    NodeName name;
    std::string address;  // InternalIP; empty if the node has none
    InventorySource source = InventorySource::agent;
    MemoryUnit unit = MemoryUnit::gib;
    EnforcementMode shares = EnforcementMode::none;
    std::vector<Gpu> gpus;  // ascending index
    std::string fault;      // why the node's report could not be read; else empty
    // Why containers with a share do not start on the node, by its agent: the guard does not work
    // there, or no CDI device provides one of its GPUs. Empty if they start.
    std::string enforcement_fault;
    std::string injection_fault;
    std::int64_t gpu_mem = 0;  // aliyun.com/gpu-mem in the node's units, for gpushare's tools
    HostRequest host;          // for all pods together (status.allocatable)
    SharedNodeTraits traits;   // labels and taints

    friend bool operator==(const NodeInventory&, const NodeInventory&) = default;
};

// What is free on one GPU now. Placement reads this most often: it is small, and one vector per
// node.
struct GpuState {
    Bytes capacity;
    Bytes allocated;
    Percent allocated_cores;
    int pods = 0;  // pods with a share here
    bool usable = true;
    Bytes over_limit;              // in addition to `allocated`: Gpu::over_limit
    std::vector<GpuGroup> groups;  // of the pods with a share here, one entry per pod and group
    int mps_pods = 0;              // those of `pods` that use MPS

    [[nodiscard]] Bytes free() const {
        return usable ? capacity - allocated - over_limit : Bytes{};
    }
    // Whether its pods leave it open to one that uses MPS, or to one that does not.
    [[nodiscard]] bool may_join(bool uses_mps) const {
        return uses_mps ? mps_pods == pods : mps_pods == 0;
    }
    // What pods that do not use MPS may take of it.
    [[nodiscard]] Bytes free_without_mps() const { return may_join(false) ? free() : Bytes{}; }

    friend bool operator==(const GpuState&, const GpuState&) = default;
};

// The state of unused GPUs. Parallel to `gpus`.
std::vector<GpuState> empty_gpus(std::span<const Gpu> gpus);

// GpuState::free_without_mps() of each. Parallel to `gpus`.
inline std::vector<Bytes> free_of(std::span<const GpuState> gpus) {
    std::vector<Bytes> out;
    out.reserve(gpus.size());
    for (const GpuState& gpu : gpus)
        out.push_back(gpu.free_without_mps());
    return out;
}

// A node's GPUs as input for placement.
struct NodeGpus {
    std::span<const Gpu> gpus;
    std::span<const GpuState> states;                // parallel
    std::span<const Bytes> free;                     // parallel: GpuState::free_without_mps()
    std::span<const TopologyGroup> topology_groups;  // by positions in `gpus`
    MemoryUnit unit = MemoryUnit::gib;
    // The node's own plugin (gpushare's) gives a container one GPU only.
    bool single_share = false;
    bool is_guarded = false;  // the guard limits the shares of the node
};

// The GPU that a share names; null if it is not on the node. Shares that were assigned while
// gpushare's plugin served the node name the GPU by its index (InventorySource::legacy).
const Gpu* find_gpu(std::span<const Gpu> gpus, const GpuUuid& uuid);

// The name of a GPU of which only the index is known.
GpuUuid uuid_of_index(int index);

// The name of a GPU that the driver lists and that never reported its UUID.
GpuUuid unidentified_gpu(int index);

// A GPU size for cases in which a whole GPU must count as more than any share.
inline constexpr Bytes kMoreThanAnyGpu{std::int64_t{1} << 60};

// The bytes that one GPU must have free for `request` on a node that counts in `unit`.
inline Bytes bytes_of(const MemoryRequest& request, MemoryUnit unit, Bytes gpu_capacity) {
    switch (request.kind) {
        case MemoryRequest::Kind::whole_gpu:
            return gpu_capacity;
        case MemoryRequest::Kind::bytes:
            return {request.amount};
        case MemoryRequest::Kind::node_units:
            return {request.amount * bytes_per_unit(unit).count};
        case MemoryRequest::Kind::percent:
            // In two parts, because the capacity may be kMoreThanAnyGpu.
            return {gpu_capacity.count / 100 * request.amount +
                    gpu_capacity.count % 100 * request.amount / 100};
    }
    return gpu_capacity;
}

}  // namespace tessera
