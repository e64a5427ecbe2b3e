// The ComputeModes port over NVML.
#pragma once

#include <memory>
#include <string>

#include "adapters/nvml/nvml_library.hpp"
#include "base/mutex.hpp"
#include "ports/mps/compute_modes.hpp"

namespace tessera {

// Loads the driver's library when it is first needed, and again after an error, because the driver
// may have been replaced.
class NvmlComputeModes final : public ComputeModes {
  public:
    // As open_nvml (nvml_inventory.hpp).
    NvmlComputeModes(std::string driver_root, std::string fix)
        : driver_root_(std::move(driver_root)), fix_(std::move(fix)) {}

    Result<ComputeMode> get(const GpuUuid& gpu) override;
    Result<> set(const GpuUuid& gpu, ComputeMode mode) override;

  private:
    Result<nvmlDevice_t> device_of(const GpuUuid& gpu) TESSERA_REQUIRES(mutex_);
    Result<> checked(nvmlReturn_t got, const char* call) TESSERA_REQUIRES(mutex_);

    const std::string driver_root_;
    const std::string fix_;
    Mutex mutex_;
    std::unique_ptr<OpenNvml> open_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace tessera
