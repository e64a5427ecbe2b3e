// What a container with a share gets: its environment, which users of the former systems rely on,
// and the GPUs that it may see. Pure; the agent carries it out.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/allocation/allocation.hpp"
#include "domain/cluster/node.hpp"

namespace tessera {

struct GpuEdits {
    std::vector<std::pair<std::string, std::string>> env;
    std::vector<Gpu> gpus;  // to inject, in the order of the share
};

// The variable by which NVIDIA's runtime decides which GPUs a container sees.
inline constexpr std::string_view kVisibleDevices = "NVIDIA_VISIBLE_DEVICES";
inline constexpr std::string_view kCudaVisibleDevices = "CUDA_VISIBLE_DEVICES";

// The value of kVisibleDevices for a container that gets its GPUs by CDI, or gets none: NVIDIA's
// runtime then injects nothing.
inline constexpr std::string_view kVoidDevices = "void";

// The variable with the number of bytes of each GPU.
inline constexpr std::string_view kMemoryBytes = "TESSERA_GPU_MEMORY_BYTES";

// The variable with the number of bytes that programs in the container see as each GPU's total, by
// cuMemGetInfo and cuDeviceTotalMem: the share, or the whole GPU. A program that takes a fraction
// of a GPU's memory computes it from this number and kMemoryBytes.
inline constexpr std::string_view kVisibleMemoryBytes = "TESSERA_GPU_VISIBLE_MEMORY_BYTES";

// The variables for every dialect: the GPUs by UUID, and the bytes of each.
std::vector<std::pair<std::string, std::string>> share_env(const ContainerAllocation& share,
                                                           std::span<const Gpu> gpus);

// The variables about the size of the GPUs: kVisibleMemoryBytes, and those of the dialect. `gpus`:
// as in GpuEdits. `sees_share`: programs see the share as the whole memory of the GPU.
std::vector<std::pair<std::string, std::string>> size_env(const Allocation& allocation,
                                                          const ContainerAllocation& share,
                                                          const NodeInventory& inventory,
                                                          std::vector<Gpu> gpus, bool sees_share);

// What container `name` of this allocation gets, without size_env(). Errors say what to do, for the
// pod's event:
// not_found if the allocation does not contain the container; conflict if it is for another pod or
// node; unavailable if a GPU is gone or not usable.
Result<GpuEdits> container_edits(const Allocation& allocation, const PodUid& pod,
                                 const NodeName& node, std::string_view name,
                                 const NodeInventory& inventory);

}  // namespace tessera
