#include "adapters/nvml/nvml_compute_modes.hpp"

#include "adapters/nvml/nvml_gpu.hpp"
#include "adapters/nvml/nvml_on_demand.hpp"
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

class NvmlComputeModes final : public ComputeModes {
  public:
    NvmlComputeModes(std::string driver_root, std::string fix)
        : driver_(std::move(driver_root), std::move(fix)) {}

    Result<ComputeMode> get(const GpuUuid& gpu) override;
    Result<> set(const GpuUuid& gpu, ComputeMode mode) override;

  private:
    Result<const Nvml*> with_modes() TESSERA_REQUIRES(mutex_);

    Mutex mutex_;
    NvmlOnDemand driver_ TESSERA_GUARDED_BY(mutex_);
};

Result<ComputeMode> NvmlComputeModes::get(const GpuUuid& gpu) {
    const MutexLock lock(mutex_);
    TRY(const Nvml* const nvml, with_modes());
    TRY(const nvmlDevice_t device, driver_.device_of(gpu));
    nvmlComputeMode_t mode = NVML_COMPUTEMODE_DEFAULT;
    TRY_VOID(
        driver_.checked(nvml->nvmlDeviceGetComputeMode(device, &mode), "nvmlDeviceGetComputeMode"));
    return compute_mode_of(mode);
}

Result<> NvmlComputeModes::set(const GpuUuid& gpu, ComputeMode mode) {
    const MutexLock lock(mutex_);
    TRY(const Nvml* const nvml, with_modes());
    TRY(const nvmlDevice_t device, driver_.device_of(gpu));
    return driver_.checked(nvml->nvmlDeviceSetComputeMode(device, vendor_mode(mode)),
                           "nvmlDeviceSetComputeMode");
}

Result<const Nvml*> NvmlComputeModes::with_modes() {
    TRY(const Nvml* const nvml, driver_.nvml());
    if (nvml->nvmlDeviceGetComputeMode != nullptr && nvml->nvmlDeviceSetComputeMode != nullptr)
        return nvml;
    return fail(Code::unsupported, "the driver's NVML has no compute modes");
}

}  // namespace

std::unique_ptr<ComputeModes> nvml_compute_modes(std::string driver_root, std::string fix) {
    return std::make_unique<NvmlComputeModes>(std::move(driver_root), std::move(fix));
}

}  // namespace tessera
