// Handing a share over to its container: the environment that the old systems' users rely on, and
// which cards it may see. Pure; the agent carries it out.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/allocation/allocation.hpp"
#include "domain/cluster/node.hpp"

namespace tessera {

struct Handover {
    std::vector<std::pair<std::string, std::string>> env;
    std::vector<Gpu> gpus;  // the cards to inject, in the order of the share
};

// The variable by which NVIDIA's runtime decides what a container sees.
inline constexpr std::string_view kVisibleDevices = "NVIDIA_VISIBLE_DEVICES";
inline constexpr std::string_view kCudaVisibleDevices = "CUDA_VISIBLE_DEVICES";

// Its value for a container that gets its GPUs by CDI, or none: the runtime then injects nothing.
inline constexpr std::string_view kVoidDevices = "void";

// And the one that says how many bytes of each.
inline constexpr std::string_view kMemoryBytes = "TESSERA_GPU_MEMORY_BYTES";

// The variables that every dialect hands over: the cards by UUID, and the bytes of each.
std::vector<std::pair<std::string, std::string>> share_env(const ContainerAllocation& share,
                                                           std::span<const Gpu> gpus);

// What container `name` of this allocation gets. Errors say what to do, for the pod's event:
// not_found when the allocation does not know the container, conflict when it is not for this pod
// and node, unavailable when a card is gone or not usable.
Result<Handover> hand_over(const Allocation& allocation, const PodUid& pod, const NodeName& node,
                           std::string_view container, const NodeInventory& inventory);

}  // namespace tessera
