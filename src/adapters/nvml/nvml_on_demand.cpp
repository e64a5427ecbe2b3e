#include "adapters/nvml/nvml_on_demand.hpp"

#include <fmt/format.h>

namespace tessera {
namespace {

Code code_of(nvmlReturn_t answer) {
    switch (answer) {
        case NVML_ERROR_NOT_FOUND:
            return Code::not_found;
        case NVML_ERROR_NO_PERMISSION:
            return Code::permission_denied;
        case NVML_ERROR_NOT_SUPPORTED:
            return Code::unsupported;
        default:
            return Code::unavailable;
    }
}

}  // namespace

Result<const Nvml*> NvmlOnDemand::nvml() {
    if (!open_) {
        TRY(open_, OpenNvml::open(driver_root_, fix_));
    }
    return &open_->nvml;
}

Result<nvmlDevice_t> NvmlOnDemand::device_of(const GpuUuid& gpu) {
    TRY(const Nvml* const nvml, this->nvml());
    if (nvml->nvmlDeviceGetHandleByUUID == nullptr)
        return fail(Code::unsupported, "the driver's NVML does not find GPUs by UUID");
    nvmlDevice_t device = nullptr;
    const nvmlReturn_t found = nvml->nvmlDeviceGetHandleByUUID(gpu.str().c_str(), &device);
    // A text that is no UUID names no GPU.
    const bool is_unknown = found == NVML_ERROR_INVALID_ARGUMENT;
    TRY_VOID(checked(is_unknown ? NVML_ERROR_NOT_FOUND : found, "nvmlDeviceGetHandleByUUID"));
    return device;
}

Result<> NvmlOnDemand::checked(nvmlReturn_t answer, const char* call) {
    if (answer == NVML_SUCCESS) return {};
    auto failed =
        fail(code_of(answer), fmt::format("{}: {}", call, open_->nvml.nvmlErrorString(answer)));
    if (failed.value().code == Code::unavailable) open_.reset();
    return failed;
}

}  // namespace tessera
