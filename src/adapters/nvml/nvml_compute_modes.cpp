#include "adapters/nvml/nvml_compute_modes.hpp"

#include <fmt/format.h>

#include "adapters/nvml/nvml_gpu.hpp"
#include "adapters/nvml/nvml_library.hpp"
#include "base/mutex.hpp"

namespace tessera {
namespace {

nvmlComputeMode_t vendor_mode(ComputeMode mode) {
    switch (mode) {
        case ComputeMode::exclusive:
            return NVML_COMPUTEMODE_EXCLUSIVE_PROCESS;
        case ComputeMode::prohibited:
            return NVML_COMPUTEMODE_PROHIBITED;
        case ComputeMode::shared:
            break;
    }
    return NVML_COMPUTEMODE_DEFAULT;
}

Code code_of(nvmlReturn_t got) {
    switch (got) {
        case NVML_ERROR_INVALID_ARGUMENT:  // text that is no UUID
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

class NvmlComputeModes final : public ComputeModes {
  public:
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

Result<ComputeMode> NvmlComputeModes::get(const GpuUuid& gpu) {
    const MutexLock lock(mutex_);
    TRY(const nvmlDevice_t device, device_of(gpu));
    nvmlComputeMode_t mode = NVML_COMPUTEMODE_DEFAULT;
    TRY_VOID(checked(open_->nvml.nvmlDeviceGetComputeMode(device, &mode), "GetComputeMode"));
    return compute_mode_of(mode);
}

Result<> NvmlComputeModes::set(const GpuUuid& gpu, ComputeMode mode) {
    const MutexLock lock(mutex_);
    TRY(const nvmlDevice_t device, device_of(gpu));
    return checked(open_->nvml.nvmlDeviceSetComputeMode(device, vendor_mode(mode)),
                   "SetComputeMode");
}

Result<nvmlDevice_t> NvmlComputeModes::device_of(const GpuUuid& gpu) {
    if (!open_) {
        TRY(open_, OpenNvml::open(driver_root_, fix_));
    }
    const Nvml& nvml = open_->nvml;
    if (nvml.nvmlDeviceGetComputeMode == nullptr || nvml.nvmlDeviceSetComputeMode == nullptr ||
        nvml.nvmlDeviceGetHandleByUUID == nullptr) {
        return fail(Code::unsupported, "the driver's NVML has no compute modes");
    }
    nvmlDevice_t device = nullptr;
    TRY_VOID(
        checked(nvml.nvmlDeviceGetHandleByUUID(gpu.str().c_str(), &device), "GetHandleByUUID"));
    return device;
}

Result<> NvmlComputeModes::checked(nvmlReturn_t got, const char* call) {
    if (got == NVML_SUCCESS) return {};
    const auto failed =
        fail(code_of(got), fmt::format("nvmlDevice{}: {}", call, open_->nvml.nvmlErrorString(got)));
    if (failed.value().code == Code::unavailable) open_.reset();
    return failed;
}

}  // namespace

std::unique_ptr<ComputeModes> nvml_compute_modes(std::string driver_root, std::string fix) {
    return std::make_unique<NvmlComputeModes>(std::move(driver_root), std::move(fix));
}

}  // namespace tessera
