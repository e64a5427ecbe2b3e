#include "domain/health/shareable.hpp"

#include <fmt/format.h>

#include "domain/health/driver_release.hpp"

namespace tessera {

std::string why_not_shareable(const GpuUuid& gpu, const GpuSetup& setup) {
    if (setup.mig) {
        return fmt::format(
            "MIG mode is on; to share the GPU, drain the node, label it {}=true, and run: "
            "nvidia-smi "
            "-i {} -mig 0",
            kReleaseDriverLabel, gpu.str());
    }
    if (setup.compute_mode != ComputeMode::shared) {
        return fmt::format("compute mode {}; to share the GPU, run: nvidia-smi -i {} -c DEFAULT",
                           setup.compute_mode == ComputeMode::prohibited
                               ? "Prohibited lets no process on it"
                               : "Exclusive_Process lets one process at a time on it",
                           gpu.str());
    }
    if (!setup.knows_memory) {
        return "NVML does not say how much memory it has (GB10, Thor and Orin use the host's), so "
               "no "
               "share of it can be counted; no command changes that: use NVIDIA's device plugin on "
               "such nodes";
    }
    return {};
}

}  // namespace tessera
