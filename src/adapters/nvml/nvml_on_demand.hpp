// NVML for calls that are made now and then: loaded when it is first needed, and again after an
// error, because the driver may have been replaced.
#pragma once

#include <memory>
#include <string>

#include "adapters/nvml/nvml_library.hpp"
#include "api/nvidia/nvml.h"
#include "base/ids.hpp"
#include "base/result.hpp"

namespace tessera {

// One thread at a time.
class NvmlOnDemand {
  public:
    // As OpenNvml::open.
    NvmlOnDemand(std::string driver_root, std::string fix)
        : driver_root_(std::move(driver_root)), fix_(std::move(fix)) {}

    // Loads NVML if need be. Errors as OpenNvml::open.
    Result<const Nvml*> nvml();
    // Errors as nvml() and checked(); unsupported if the driver does not find GPUs by UUID.
    Result<nvmlDevice_t> device_of(const GpuUuid& gpu);
    // Of NVML's answer to `call`, such as "nvmlDeviceSetComputeMode", after nvml(). Errors:
    // not_found, permission_denied, unsupported, unavailable otherwise.
    Result<> checked(nvmlReturn_t answer, const char* call);
    // The next call loads NVML again.
    void close() { open_.reset(); }

  private:
    const std::string driver_root_;
    const std::string fix_;
    std::unique_ptr<OpenNvml> open_;
};

}  // namespace tessera
