#include "guard/inject/nvml.hpp"

namespace tessera::guard {
namespace {

Nvml read_nvml(const Object& library) {
    Nvml nvml;
#define NVML_HOOK(symbol) nvml.symbol.set(find_function(library, #symbol));
#include "guard/nvml_entrypoints.def"
#undef NVML_HOOK
    nvml.nvmlDeviceGetUUID.set(find_function(library, "nvmlDeviceGetUUID"));
    return nvml;
}

constinit Library<Nvml> library("libnvidia-ml.so.1", "nvmlDeviceGetUUID", read_nvml);

}  // namespace

const Nvml* nvml() {
    return library.get();
}

}  // namespace tessera::guard
