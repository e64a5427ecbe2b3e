// The ComputeModes port over NVML.
#pragma once

#include <memory>
#include <string>

#include "ports/mps/compute_modes.hpp"

namespace tessera {

// As open_nvml (nvml_inventory.hpp), but the driver's library is loaded when it is first needed,
// and again after an error, because the driver may have been replaced.
std::unique_ptr<ComputeModes> nvml_compute_modes(std::string driver_root, std::string fix);

}  // namespace tessera
