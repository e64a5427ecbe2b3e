// The GpuInventory port over NVML. The library is loaded at run time, never linked: one binary
// works on nodes with and without a driver, and says what is missing.
#pragma once

#include <memory>
#include <string>

#include "ports/gpu_inventory.hpp"

namespace tessera {

// `driver_root` is the root of the driver's files: "/" on a plain host, /run/nvidia/driver with
// NVIDIA's GPU Operator. Errors: unavailable, with the folders that were searched or NVML's answer.
// `fix`: what to do if the library is not there; empty: what an agent's administrator does.
Result<std::unique_ptr<GpuInventory>> open_nvml(const std::string& driver_root,
                                                std::string fix = {});

}  // namespace tessera
