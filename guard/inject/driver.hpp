// The driver itself: where its functions are that the guard stands before.
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

    // Hooks would be lost without these.
    [[nodiscard]] bool is_whole() const {
        return cuCtxGetCurrent && cuCtxGetDevice && cuDeviceGetUuid;
    }
};

// The driver of this process, loaded now if nobody has; null where there is none. Any thread.
const Driver* driver();

}  // namespace tessera::guard
