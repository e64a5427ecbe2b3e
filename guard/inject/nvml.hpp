// NVML itself: the addresses of its functions that the guard hooks or needs.
#pragma once

#include "api/nvidia/nvml.h"
#include "guard/inject/library.hpp"

namespace tessera::guard {

struct Nvml {
#define NVML_HOOK(symbol) DriverFunction<decltype(&::symbol)> symbol;
#include "guard/nvml_entrypoints.def"
#undef NVML_HOOK
    // Not hooked, but needed.
    DriverFunction<decltype(&::nvmlDeviceGetUUID)> nvmlDeviceGetUUID;
    DriverFunction<decltype(&::nvmlInit_v2)> nvmlInit_v2;
    DriverFunction<decltype(&::nvmlShutdown)> nvmlShutdown;
    DriverFunction<decltype(&::nvmlDeviceGetHandleByUUID)> nvmlDeviceGetHandleByUUID;

    [[nodiscard]] bool is_whole() const { return static_cast<bool>(nvmlDeviceGetUUID); }
};

// The NVML of this process, loaded now if it is not loaded yet; null if there is none. Any thread.
const Nvml* nvml();
// The same, but null if nvml() was not called before: the loader may not be called under a lock.
const Nvml* found_nvml();

}  // namespace tessera::guard
