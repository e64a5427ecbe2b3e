#include "adapters/nvml/nvml_memory_limits.hpp"

#include <algorithm>
#include <limits>

#include "adapters/nvml/nvml_on_demand.hpp"
#include "base/mutex.hpp"

namespace tessera {
namespace {

constexpr const char* kGet = "nvmlDeviceGetMemoryLimits";
constexpr const char* kSet = "nvmlDeviceSetMemoryLimits";

// The most that a Bytes holds stands for all above it.
Bytes bytes_of(unsigned long long bytes) {
    constexpr auto kMost =
        static_cast<unsigned long long>(std::numeric_limits<std::int64_t>::max());
    return {static_cast<std::int64_t>(std::min(bytes, kMost))};
}

class NvmlMemoryLimits final : public CgroupMemoryLimits {
  public:
    NvmlMemoryLimits(std::string driver_root, std::string fix, std::string cgroup_root)
        : cgroup_root_(std::move(cgroup_root)), driver_(std::move(driver_root), std::move(fix)) {}

    Result<> check_supported(const GpuUuid& gpu) override;
    Result<CgroupMemory> get(const GpuUuid& gpu, const std::string& cgroup) override;
    Result<> set(const GpuUuid& gpu, const std::string& cgroup,
                 std::optional<Bytes> limit) override;
    void close() override {
        const MutexLock lock(mutex_);
        driver_.close();
    }

  private:
    Result<const Nvml*> with_limits() TESSERA_REQUIRES(mutex_);

    const std::string cgroup_root_;
    Mutex mutex_;
    NvmlOnDemand driver_ TESSERA_GUARDED_BY(mutex_);
};

// The root has no limit. A driver with limits says so, or that it does not find one there.
Result<> NvmlMemoryLimits::check_supported(const GpuUuid& gpu) {
    const MutexLock lock(mutex_);
    TRY(const Nvml* const nvml, with_limits());
    TRY(const nvmlDevice_t device, driver_.device_of(gpu));
    nvmlGetMemoryLimits_v1_t limits = {.nameSpace = cgroup_root_.c_str()};
    const nvmlReturn_t answer = nvml->nvmlDeviceGetMemoryLimits_v1(device, &limits);
    if (answer == NVML_ERROR_NOT_FOUND) return {};
    return driver_.checked(answer, kGet);
}

Result<CgroupMemory> NvmlMemoryLimits::get(const GpuUuid& gpu, const std::string& cgroup) {
    const MutexLock lock(mutex_);
    TRY(const Nvml* const nvml, with_limits());
    TRY(const nvmlDevice_t device, driver_.device_of(gpu));
    nvmlGetMemoryLimits_v1_t limits = {.nameSpace = cgroup.c_str()};
    TRY_VOID(driver_.checked(nvml->nvmlDeviceGetMemoryLimits_v1(device, &limits), kGet));
    CgroupMemory memory{bytes_of(limits.currentUsed), bytes_of(limits.softLimit), {}};
    if (limits.hardLimit != NVML_DEVICE_MEMORY_LIMIT_MAX) memory.limit = bytes_of(limits.hardLimit);
    return memory;
}

Result<> NvmlMemoryLimits::set(const GpuUuid& gpu, const std::string& cgroup,
                               std::optional<Bytes> limit) {
    const MutexLock lock(mutex_);
    TRY(const Nvml* const nvml, with_limits());
    TRY(const nvmlDevice_t device, driver_.device_of(gpu));
    nvmlSetMemoryLimits_v1_t limits = {
        .nameSpace = cgroup.c_str(),
        .softLimit = 0,
        .hardLimit =
            limit ? static_cast<unsigned long long>(limit->count) : NVML_DEVICE_MEMORY_LIMIT_MAX,
    };
    return driver_.checked(nvml->nvmlDeviceSetMemoryLimits_v1(device, &limits), kSet);
}

Result<const Nvml*> NvmlMemoryLimits::with_limits() {
    TRY(const Nvml* const nvml, driver_.nvml());
    if (nvml->nvmlDeviceGetMemoryLimits_v1 != nullptr &&
        nvml->nvmlDeviceSetMemoryLimits_v1 != nullptr)
        return nvml;
    return fail(Code::unsupported,
                "the driver has no memory limits for cgroups (they need r615 or newer)");
}

}  // namespace

std::unique_ptr<CgroupMemoryLimits> nvml_memory_limits(std::string driver_root, std::string fix,
                                                       std::string cgroup_root) {
    return std::make_unique<NvmlMemoryLimits>(std::move(driver_root), std::move(fix),
                                              std::move(cgroup_root));
}

}  // namespace tessera
