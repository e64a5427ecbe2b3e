// The GpuInventory port over NVML. The library is loaded at run time, never linked: one binary
// serves nodes with and without a driver, and says what is missing.
#pragma once

#include <memory>
#include <string>

#include "ports/gpu_inventory.hpp"

namespace tessera {

// `driver_root` is where the driver's files are: "/" on a plain host, /run/nvidia/driver with
// NVIDIA's GPU operator. Errors: unavailable, naming the folders that were searched or what NVML
// answered.
Result<std::unique_ptr<GpuInventory>> open_nvml(const std::string& driver_root);

}  // namespace tessera
