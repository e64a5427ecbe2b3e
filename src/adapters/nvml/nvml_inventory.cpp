#include "adapters/nvml/nvml_inventory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "adapters/nvml/nvml_gpu.hpp"
#include "adapters/nvml/nvml_library.hpp"
#include "adapters/nvml/nvml_links.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"

namespace tessera {
namespace {

std::string fix_for_agents(const std::string& driver_root) {
    if (driver_root != "/") return "is NVIDIA's driver installed, and is driver_root right?";
    return "the container runtime did not give the agent NVIDIA's driver; set "
           "agent.driver.runtimeClassName, agent.driver.privileged or agent.driver.root of the "
           "Helm chart (docs/install/helm.md, Driver)";
}

class NvmlInventory final : public GpuInventory {
  public:
    NvmlInventory(std::string driver_root, std::string fix)
        : driver_root_(std::move(driver_root)), fix_(std::move(fix)) {}
    ~NvmlInventory() override { close(); }
    NvmlInventory(const NvmlInventory&) = delete;
    NvmlInventory& operator=(const NvmlInventory&) = delete;

    Result<std::vector<GpuReading>> read() override {
        const MutexLock lock(mutex_);
        TRY_VOID(check_open());
        unsigned count = 0;
        TRY_VOID(ok(nvml_.nvmlDeviceGetCount_v2(&count), "nvmlDeviceGetCount"));
        named_.erase(named_.lower_bound(count), named_.end());
        std::vector<GpuReading> readings;
        std::vector<nvmlDevice_t> devices;  // parallel; null if there is no handle
        for (unsigned i = 0; i < count; ++i) {
            nvmlDevice_t device = nullptr;
            GpuReading reading;
            nvmlReturn_t got = nvml_.nvmlDeviceGetHandleByIndex_v2(i, &device);
            if (got == NVML_SUCCESS) {
                handles_[i] = device;
                got = gpus_.read(device, i, reading);
            }
            if (got == NVML_SUCCESS) {
                known_[device] = reading;
                named_[i] = reading;
            } else {
                reading = failing(i, reading, nvml_.nvmlErrorString(got));
            }
            readings.push_back(std::move(reading));
            devices.push_back(handles_[i]);
        }
        unname_doubles(readings);
        links_.read(devices, readings);
        return readings;
    }

    // Loads the library again, too, because its version must be that of the driver.
    Result<> reopen() override {
        const MutexLock lock(mutex_);
        shut_down();
        TRY(open_, OpenNvml::open(driver_root_, fix_));
        nvml_ = open_->nvml;
        return {};
    }

    void close() override {
        const MutexLock lock(mutex_);
        shut_down();
    }

    Result<std::vector<GpuProcess>> processes() override {
        const MutexLock lock(mutex_);
        TRY_VOID(check_open());
        std::vector<GpuProcess> found;
        Result<> answered;  // the error of one GPU; the others are listed anyway
        for (const auto& [device, reading] : known_) {
            if (reading.setup.mig)
                continue;  // it lists the processes of its instances, and it has no shares
            auto added = gpus_.add_processes(device, reading.uuid, found);
            if (!added) answered = added;
        }
        if (!answered && found.empty()) return fail(answered.error());
        const std::string unseen = answered ? "" : answered.error().text;
        if (unseen != unseen_ && !unseen.empty())
            log_event(Event::bypass_detection_failed, {{"reason", unseen}});
        unseen_ = unseen;
        return found;
    }

    Result<std::optional<GpuFault>> wait_fault(std::chrono::milliseconds timeout) override {
        TRY_VOID(subscribe());
        nvmlEventData_t event{};
        const nvmlReturn_t got =
            nvml_.nvmlEventSetWait_v2(events_, &event, static_cast<unsigned>(timeout.count()));
        if (got == NVML_ERROR_TIMEOUT) return std::optional<GpuFault>();
        TRY_VOID(ok(got, "nvmlEventSetWait"));
        GpuFault fault{.uuid = {}, .xid = static_cast<int>(event.eventData)};
        if (event.device == nullptr) return std::optional(fault);
        // By its handle, because a failed GPU does not answer with its UUID. A GPU that never
        // reported a UUID is not published, so its faults are ignored.
        const MutexLock lock(mutex_);
        const auto known = known_.find(event.device);
        if (known == known_.end()) return std::optional<GpuFault>();
        fault.uuid = known->second.uuid;
        return std::optional(fault);
    }

  private:
    Result<> ok(nvmlReturn_t result, std::string_view what) const {
        if (result == NVML_SUCCESS) return {};
        return fail(Code::unavailable, fmt::format("{}: {}", what, nvml_.nvmlErrorString(result)));
    }

    Result<> check_open() const TESSERA_REQUIRES(mutex_) {
        if (open_ != nullptr) return {};
        return fail(Code::unavailable, "the driver is closed");
    }

    // Handles are valid until NVML is shut down. The values that a GPU reported are kept.
    void shut_down() TESSERA_REQUIRES(mutex_) {
        if (events_ != nullptr) nvml_.nvmlEventSetFree(events_);
        events_ = nullptr;
        subscribed_.clear();
        known_.clear();
        handles_.clear();
        links_ = LinkReader(nvml_);
        open_ = nullptr;
    }

    // The reading of a GPU that does not fully answer: its earlier values, unless its UUID shows
    // that it is another GPU.
    GpuReading failing(unsigned index, const GpuReading& said, const char* error)
        TESSERA_REQUIRES(mutex_) {
        GpuReading reading;
        const auto is_it = [&](const GpuReading& before) {
            return said.uuid.empty() || said.uuid == before.uuid;
        };
        const auto known = known_.find(handles_[index]);
        const auto named = named_.find(index);
        if (known != known_.end() && is_it(known->second)) {
            reading = known->second;
        } else if (named != named_.end() && is_it(named->second)) {
            reading = named->second;
        } else if (!said.uuid.empty()) {
            reading = said;
        } else {
            reading.index = static_cast<int>(index);
            reading.uuid = unidentified_gpu(reading.index);
        }
        reading.lost = error;
        reading.recovery = RecoveryAction::unknown;
        return reading;
    }

    // A failed GPU is identified by its index, and after some errors another GPU may have that
    // index.
    static void unname_doubles(std::vector<GpuReading>& readings) {
        std::set<GpuUuid> taken;
        for (const GpuReading& reading : readings) {
            if (reading.lost.empty()) taken.insert(reading.uuid);
        }
        for (std::size_t i = 0; i < readings.size(); ++i) {
            GpuReading& reading = readings[i];
            if (reading.lost.empty() || taken.insert(reading.uuid).second) continue;
            const int index = static_cast<int>(i);
            reading = {.uuid = unidentified_gpu(index), .index = index, .lost = reading.lost};
        }
    }

    // Also subscribes to GPUs that were read since the last time. A GPU that cannot report events
    // is still used: its probes find faults.
    Result<> subscribe() {
        const MutexLock lock(mutex_);
        TRY_VOID(check_open());
        if (events_ == nullptr)
            TRY_VOID(ok(nvml_.nvmlEventSetCreate(&events_), "nvmlEventSetCreate"));
        for (const auto& [device, reading] : known_) {
            if (subscribed_.contains(device)) continue;
            const nvmlReturn_t got =
                nvml_.nvmlDeviceRegisterEvents(device, nvmlEventTypeXidCriticalError, events_);
            if (got == NVML_SUCCESS) subscribed_.insert(device);
        }
        return {};
    }

    const std::string driver_root_;
    const std::string fix_;
    // Used by the thread that waits for faults.
    nvmlEventSet_t events_ = nullptr;
    std::set<nvmlDevice_t> subscribed_;
    Mutex mutex_;
    // A handle is the same GPU for the life of the process; an index may change.
    std::map<nvmlDevice_t, GpuReading> known_ TESSERA_GUARDED_BY(mutex_);  // as last read
    std::map<unsigned, nvmlDevice_t> handles_
        TESSERA_GUARDED_BY(mutex_);  // by index, as last returned
    // By index, as last read; kept when the handles become invalid.
    std::map<unsigned, GpuReading> named_ TESSERA_GUARDED_BY(mutex_);
    // Why the processes of some GPU are not known, as last logged.
    std::string unseen_ TESSERA_GUARDED_BY(mutex_);
    std::unique_ptr<OpenNvml> open_ TESSERA_GUARDED_BY(mutex_);  // null: the driver is closed
    // Of open_. The thread that waits for faults is the only one that changes it, with mutex_
    // locked, so that thread reads it without.
    Nvml nvml_;
    GpuReader gpus_{nvml_};
    LinkReader links_{nvml_};
};

}  // namespace

Result<std::unique_ptr<GpuInventory>> open_nvml(const std::string& driver_root, std::string fix) {
    if (fix.empty()) fix = fix_for_agents(driver_root);
    auto opened = std::make_unique<NvmlInventory>(driver_root, std::move(fix));
    TRY_VOID(opened->reopen());
    return opened;
}

}  // namespace tessera
