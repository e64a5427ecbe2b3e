// The driver itself: the addresses of its functions that the guard hooks or needs.
#pragma once

#include "api/nvidia/cuda.h"
#include "guard/inject/library.hpp"

namespace tessera::guard {

struct Driver {
#define HOOK(symbol, name, since) DriverFunction<decltype(&::symbol)> symbol;
#include "guard/entrypoints.def"
#undef HOOK
    // Not hooked, but needed.
#define NEEDED(symbol) DriverFunction<decltype(&::symbol)> symbol;
#include "guard/inject/needed.def"
#undef NEEDED

    // Without these the hooks could not work.
    [[nodiscard]] bool is_whole() const {
        return cuCtxGetCurrent && cuCtxGetDevice && cuDeviceGetUuid;
    }
};

// The driver of this process, loaded now if it is not loaded yet; null if there is none. Any
// thread.
const Driver* driver();

}  // namespace tessera::guard
