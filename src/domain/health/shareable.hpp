// Whether a healthy GPU can be shared with its current settings. Pure.
#pragma once

#include <string>

#include "base/ids.hpp"

namespace tessera {

// Which processes the driver admits on a GPU (nvmlComputeMode_t, nvidia-smi -c).
enum class ComputeMode { shared, exclusive, prohibited };

// The settings of a GPU, by the driver. If the driver does not answer, the defaults apply: a GPU
// without MIG has no MIG mode.
struct GpuSetup {
    bool mig = false;  // MIG mode is on now
    ComputeMode compute_mode = ComputeMode::shared;
    bool knows_memory = true;  // NVML reports the amount of memory

    friend bool operator==(const GpuSetup&, const GpuSetup&) = default;
};

// Empty if the GPU can be shared, else the reason, with the command that changes it.
std::string why_not_shareable(const GpuUuid& gpu, const GpuSetup& setup);

}  // namespace tessera
