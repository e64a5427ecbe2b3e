#include "adapters/nvml/nvml_memory_limits.hpp"

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "adapters/nvml/nvml_on_demand.hpp"
#include "base/bounded_mutex.hpp"
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

// The driver requires version 2. A hierarchy of version 1 is for the simulated driver.
bool is_cgroup_folder(const std::string& folder) {
    struct statfs about = {};
    return statfs(folder.c_str(), &about) == 0 &&
           (about.f_type == CGROUP2_SUPER_MAGIC || about.f_type == CGROUP_SUPER_MAGIC);
}

class NvmlMemoryLimits final : public CgroupMemoryLimits {
  public:
    NvmlMemoryLimits(std::string driver_root, std::string fix, std::string cgroup_root)
        : cgroup_root_(std::move(cgroup_root)), driver_(std::move(driver_root), std::move(fix)) {}

    Result<> check_supported(const GpuUuid& gpu) override;
    Result<CgroupMemory> get(const GpuUuid& gpu, const std::string& cgroup) override;
    Result<> set(const GpuUuid& gpu, const std::string& cgroup,
                 std::optional<Bytes> limit) override;
    Result<> last_supported(const GpuUuid& gpu) const override;
    void close() override;
    void open() override;
    bool is_closed() const override;

  private:
    // One thread at a time calls the driver. A call can hang there, and callers that start
    // containers must not wait with it.
    Result<BoundedMutex::Lock> turn();
    Result<> read_supported(const GpuUuid& gpu);
    // Of the thread whose turn it is.
    Result<const Nvml*> with_limits();

    const std::string cgroup_root_;
    BoundedMutex turns_;
    NvmlOnDemand driver_;  // guarded by turns_
    mutable Mutex mutex_;
    bool is_closed_ TESSERA_GUARDED_BY(mutex_) = false;
    std::map<GpuUuid, Result<>> supported_ TESSERA_GUARDED_BY(mutex_);
};

Result<BoundedMutex::Lock> NvmlMemoryLimits::turn() {
    auto lock = turns_.lock_within(kLongestMemoryLimitWait);
    if (!lock) return fail(Code::unavailable, "another call waits for the driver; try again");
    if (is_closed()) return fail(Code::unavailable, "the driver is closed");
    return *std::move(lock);
}

// A thread that closes waits for the call under way, which has the driver open. Later calls find
// it closed.
void NvmlMemoryLimits::close() {
    {
        const MutexLock lock(mutex_);
        is_closed_ = true;
    }
    const auto last = turns_.lock();
    driver_.close();
}

void NvmlMemoryLimits::open() {
    const MutexLock lock(mutex_);
    is_closed_ = false;
}

bool NvmlMemoryLimits::is_closed() const {
    const MutexLock lock(mutex_);
    return is_closed_;
}

Result<> NvmlMemoryLimits::last_supported(const GpuUuid& gpu) const {
    const MutexLock lock(mutex_);
    const auto known = supported_.find(gpu);
    if (known != supported_.end()) return known->second;
    return fail(Code::unavailable, "the driver was not asked yet for its memory limits");
}

Result<> NvmlMemoryLimits::check_supported(const GpuUuid& gpu) {
    auto answer = read_supported(gpu);
    const MutexLock lock(mutex_);
    // A driver that does not answer for a moment changes nothing.
    const bool is_answer = answer || answer.error().code != Code::unavailable;
    if (is_answer || !supported_.contains(gpu)) supported_.insert_or_assign(gpu, answer);
    return answer;
}

// The root has no limit. A driver with limits says so, or that it does not find one there.
Result<> NvmlMemoryLimits::read_supported(const GpuUuid& gpu) {
    if (!is_cgroup_folder(cgroup_root_)) {
        return fail(Code::unsupported,
                    fmt::format("{} is no folder of cgroups, or of version 1 (cgroup_folder)",
                                cgroup_root_));
    }
    TRY(const BoundedMutex::Lock turn, this->turn());
    TRY(const Nvml* const nvml, with_limits());
    TRY(const nvmlDevice_t device, driver_.device_of(gpu));
    nvmlGetMemoryLimits_v1_t limits = {.nameSpace = cgroup_root_.c_str()};
    const nvmlReturn_t answer = nvml->nvmlDeviceGetMemoryLimits_v1(device, &limits);
    if (answer == NVML_ERROR_NOT_FOUND) return {};
    return driver_.checked(answer, kGet);
}

Result<CgroupMemory> NvmlMemoryLimits::get(const GpuUuid& gpu, const std::string& cgroup) {
    TRY(const BoundedMutex::Lock turn, this->turn());
    TRY(const Nvml* const nvml, with_limits());
    TRY(const nvmlDevice_t device, driver_.device_of(gpu));
    nvmlGetMemoryLimits_v1_t limits = {.nameSpace = cgroup.c_str()};
    TRY_VOID(driver_.checked(nvml->nvmlDeviceGetMemoryLimits_v1(device, &limits), kGet));
    CgroupMemory memory{bytes_of(limits.softLimit), {}};
    if (limits.hardLimit != NVML_DEVICE_MEMORY_LIMIT_MAX) memory.limit = bytes_of(limits.hardLimit);
    return memory;
}

Result<> NvmlMemoryLimits::set(const GpuUuid& gpu, const std::string& cgroup,
                               std::optional<Bytes> limit) {
    TRY(const BoundedMutex::Lock turn, this->turn());
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
