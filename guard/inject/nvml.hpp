// NVML itself: where its functions are that the guard stands before.
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

// That of this process, loaded now if nobody has; null where there is none. Any thread.
const Nvml* nvml();
// The same, null where nobody has asked for it before: under a lock the loader may not be called.
const Nvml* found_nvml();

}  // namespace tessera::guard
