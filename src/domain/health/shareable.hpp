// Whether a GPU that works can be shared, as it is set up now. Pure.
#pragma once

#include <string>

#include "base/ids.hpp"

namespace tessera {

// Which processes the driver lets on a GPU (nvmlComputeMode_t, nvidia-smi -c).
enum class ComputeMode { shared, exclusive, prohibited };

// What the driver says of a GPU's set-up. What it does not answer is as here: a GPU without MIG has
// no MIG mode.
struct GpuSetup {
    bool mig = false;  // MIG mode is on now
    ComputeMode compute_mode = ComputeMode::shared;
    bool knows_memory = true;  // NVML says how much memory there is

    friend bool operator==(const GpuSetup&, const GpuSetup&) = default;
};

// Empty where it can be shared, else the reason, with the command that changes it.
std::string why_not_shareable(const GpuUuid& gpu, const GpuSetup& setup);

}  // namespace tessera
