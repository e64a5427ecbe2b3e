// Which GPUs of a node are linked directly: what the agent reports, and the topology groups that
// placement uses.
#pragma once

#include <cstddef>
#include <cstdint>

#include "domain/request/link.hpp"

namespace tessera {

inline constexpr int kNumaUnknown = -1;

inline constexpr int kMostLinkedIndex = 63;

// The links of one GPU. Each set has one bit per GPU, by its index in the driver. GPUs above
// kMostLinkedIndex are not reported.
struct GpuLinks {
    int numa = kNumaUnknown;   // the NUMA node of its PCIe slot
    std::uint64_t pcie = 0;    // the GPUs behind the same PCIe switches
    std::uint64_t nvlink = 0;  // the GPUs that it reaches by NVLink, also through NVSwitch

    friend bool operator==(const GpuLinks&, const GpuLinks&) = default;
};

// A set of a node's GPUs, by position in the node's list.
using GpuMask = std::uint64_t;
inline constexpr GpuMask kAnyGpus = ~GpuMask{0};

constexpr bool is_among(GpuMask gpus, std::size_t gpu) {
    return ((gpus >> (gpu < 64 ? gpu : 63)) & 1) != 0;
}

// A maximal set of GPUs in which each two are linked by all of these links.
struct TopologyGroup {
    unsigned links = 0;  // of Link; a larger number is nearer
    GpuMask gpus = 0;    // at least two
    // The number of larger topology groups that contain some of its GPUs and not all. A pod that
    // takes GPUs here breaks those up.
    int crossed = 0;

    [[nodiscard]] bool has(Link link) const { return (links & static_cast<unsigned>(link)) != 0; }

    friend bool operator==(const TopologyGroup&, const TopologyGroup&) = default;
};

}  // namespace tessera
