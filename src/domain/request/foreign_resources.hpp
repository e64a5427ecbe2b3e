// The extended resources by which other programs assign NVIDIA GPUs.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace tessera {

// Prefixes of their names: NVIDIA's device plugin (nvidia.com/gpu, also gpu.shared), HAMi
// (nvidia.com/gpumem), MIG, KubeVirt (pgpu), Volcano, gpu-manager, nvshare. Not all of nvidia.com/,
// because NVIDIA's network devices are there, too.
inline constexpr std::array<std::string_view, 7> kForeignResources = {
    "nvidia.com/gpu",    "nvidia.com/mig-", "nvidia.com/pgpu", "volcano.sh/vgpu",
    "tencent.com/vcuda", "volcano.sh/gpu",  "nvshare.com/gpu"};

inline bool is_foreign_gpu_resource(std::string_view name) {
    return std::ranges::any_of(
        kForeignResources, [&](std::string_view beginning) { return name.starts_with(beginning); });
}

}  // namespace tessera
