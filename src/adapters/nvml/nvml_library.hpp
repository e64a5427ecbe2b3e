// The entry points of NVML that the agent calls, as found in the driver's library.
#pragma once

#include "api/nvidia/nvml.h"

namespace tessera {

struct Nvml {
#define NVML_SYMBOL(name) decltype(&::name) name = nullptr;
#define NVML_OPTIONAL(name) decltype(&::name) name = nullptr;
#include "adapters/nvml/nvml_symbols.def"
#undef NVML_SYMBOL
#undef NVML_OPTIONAL
};

}  // namespace tessera
