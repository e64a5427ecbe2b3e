#include "guard/inject/nvml.hpp"

namespace tessera::guard {
namespace {

Nvml read_nvml(const LoadedObject& library) {
    Nvml nvml;
#define NVML_HOOK(symbol) nvml.symbol.set(find_function(library, #symbol));
#include "guard/nvml_entrypoints.def"
#undef NVML_HOOK
#define NEEDED(symbol) nvml.symbol.set(find_function(library, #symbol));
    NEEDED(nvmlDeviceGetUUID)
    NEEDED(nvmlInit_v2)
    NEEDED(nvmlShutdown)
    NEEDED(nvmlDeviceGetHandleByUUID)
#undef NEEDED
    return nvml;
}

constinit Library<Nvml> library("libnvidia-ml.so.1", "nvmlDeviceGetUUID", read_nvml);

}  // namespace

const Nvml* nvml() {
    return library.get();
}

const Nvml* found_nvml() {
    return library.found();
}

}  // namespace tessera::guard
