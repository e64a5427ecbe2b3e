#include "adapters/nvml/nvml_inventory.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <set>

#include "adapters/nvml/nvml_library.hpp"
#include "adapters/nvml/nvml_links.hpp"
#include "base/log.hpp"

namespace tessera {
namespace {

// Where distributions put the driver's libraries, under the driver root.
constexpr std::array kLibraryFolders = {
    "usr/lib/x86_64-linux-gnu",  "usr/lib64", "usr/lib",
    "usr/lib/aarch64-linux-gnu", "lib64",     "lib/x86_64-linux-gnu",
};
constexpr const char* kLibrary = "libnvidia-ml.so.1";

Result<Nvml> resolve(void* library) {
    Nvml nvml;
    std::string missing;
#define NVML_SYMBOL(symbol)                                                         \
    nvml.symbol = reinterpret_cast<decltype(nvml.symbol)>(dlsym(library, #symbol)); \
    if (nvml.symbol == nullptr) missing += " " #symbol;
#define NVML_OPTIONAL(symbol) \
    nvml.symbol = reinterpret_cast<decltype(nvml.symbol)>(dlsym(library, #symbol));
#include "adapters/nvml/nvml_symbols.def"
#undef NVML_SYMBOL
#undef NVML_OPTIONAL
    if (missing.empty()) return nvml;
    return fail(Code::unsupported, "the driver's NVML is too old; it lacks" + missing);
}

class NvmlInventory final : public GpuInventory {
  public:
    NvmlInventory(void* library, const Nvml& nvml)
        : library_(library), nvml_(nvml), links_(nvml_) {}

    ~NvmlInventory() override {
        if (events_ != nullptr) nvml_.nvmlEventSetFree(events_);
        nvml_.nvmlShutdown();
        dlclose(library_);
    }
    NvmlInventory(const NvmlInventory&) = delete;
    NvmlInventory& operator=(const NvmlInventory&) = delete;

    Result<std::vector<GpuReading>> read() override {
        const std::scoped_lock lock(mutex_);
        unsigned count = 0;
        TRY_VOID(ok(nvml_.nvmlDeviceGetCount_v2(&count), "nvmlDeviceGetCount"));
        std::vector<GpuReading> readings;
        std::vector<nvmlDevice_t> devices;  // parallel
        for (unsigned i = 0; i < count; ++i) {
            nvmlDevice_t device = nullptr;
            GpuReading reading;
            nvmlReturn_t got = nvml_.nvmlDeviceGetHandleByIndex_v2(i, &device);
            if (got == NVML_SUCCESS) {
                handles_[i] = device;
                got = read_card(device, i, reading);
            }
            if (got == NVML_SUCCESS) {
                skipped_.erase(i);
                known_[device] = reading;
                readings.push_back(std::move(reading));
                devices.push_back(device);
            } else if (const auto known = known_.find(handles_[i]); known != known_.end()) {
                // A card in trouble no longer says who it is: what it said before still holds.
                reading = known->second;
                reading.lost = nvml_.nvmlErrorString(got);
                reading.recovery = RecoveryAction::unknown;
                readings.push_back(std::move(reading));
                devices.push_back(known->first);
            } else if (skipped_.insert(i).second) {
                log_event(Event::gpu_skipped,
                          {{"index", static_cast<int>(i)}, {"reason", nvml_.nvmlErrorString(got)}});
            }
        }
        links_.read(devices, readings);
        return readings;
    }

    Result<std::vector<GpuProcess>> processes() override {
        if (nvml_.nvmlDeviceGetComputeRunningProcesses_v3 == nullptr)
            return fail(Code::unsupported, "the driver's NVML is too old to list processes");
        const std::scoped_lock lock(mutex_);
        std::vector<GpuProcess> found;
        Result<> answered;  // a card in trouble hides none of the others
        for (const auto& [device, reading] : known_) {
            if (auto added = add_processes(device, reading.uuid, found); !added) answered = added;
        }
        if (!answered && found.empty()) return fail(answered.error());
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
        // By its handle: a card in trouble would not say who it is. One that never did is not
        // published, so its faults concern nobody.
        const std::scoped_lock lock(mutex_);
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

    // To the cards that were read since the last time, too. One that cannot report events is still
    // a card: its probes tell.
    Result<> subscribe() {
        if (events_ == nullptr)
            TRY_VOID(ok(nvml_.nvmlEventSetCreate(&events_), "nvmlEventSetCreate"));
        const std::scoped_lock lock(mutex_);
        for (const auto& [device, reading] : known_) {
            if (subscribed_.contains(device)) continue;
            const nvmlReturn_t got =
                nvml_.nvmlDeviceRegisterEvents(device, nvmlEventTypeXidCriticalError, events_);
            if (got == NVML_SUCCESS) subscribed_.insert(device);
        }
        return {};
    }

    nvmlReturn_t read_card(nvmlDevice_t device, unsigned index, GpuReading& out) const {
        std::array<char, NVML_DEVICE_UUID_V2_BUFFER_SIZE> uuid{};
        std::array<char, NVML_DEVICE_NAME_V2_BUFFER_SIZE> name{};
        unsigned minor = 0;
        nvmlReturn_t got = nvml_.nvmlDeviceGetUUID(device, uuid.data(), uuid.size());
        if (got == NVML_SUCCESS) got = nvml_.nvmlDeviceGetName(device, name.data(), name.size());
        if (got == NVML_SUCCESS) got = nvml_.nvmlDeviceGetMinorNumber(device, &minor);
        if (got == NVML_SUCCESS) got = read_memory(device, out);
        if (got != NVML_SUCCESS) return got;
        out.uuid = GpuUuid(uuid.data());
        out.index = static_cast<int>(index);
        out.minor = static_cast<int>(minor);
        out.model = name.data();
        out.recovery = read_recovery(device);
        return NVML_SUCCESS;
    }

    // There may be more by the time of the second question: then it is asked again.
    Result<> add_processes(nvmlDevice_t device, const GpuUuid& uuid,
                           std::vector<GpuProcess>& found) const {
        std::vector<nvmlProcessInfo_t> infos(16);
        nvmlReturn_t got = NVML_ERROR_INSUFFICIENT_SIZE;
        for (unsigned count = 0; got == NVML_ERROR_INSUFFICIENT_SIZE;) {
            count = static_cast<unsigned>(infos.size());
            got = nvml_.nvmlDeviceGetComputeRunningProcesses_v3(device, &count, infos.data());
            infos.resize(got == NVML_SUCCESS ? count : infos.size() * 2);
        }
        if (got == NVML_ERROR_GPU_IS_LOST) return {};
        TRY_VOID(ok(got, "nvmlDeviceGetComputeRunningProcesses"));
        for (const nvmlProcessInfo_t& info : infos) {
            // NVML's "not available" is the largest number.
            const auto used = static_cast<std::int64_t>(info.usedGpuMemory);
            if (used < 0) {
                return fail(Code::unsupported,
                            "the driver does not say what each process uses of a card");
            }
            found.push_back({.card = uuid, .pid = info.pid, .used = {used}});
        }
        return {};
    }

    nvmlReturn_t read_memory(nvmlDevice_t device, GpuReading& out) const {
        if (nvml_.nvmlDeviceGetMemoryInfo_v2 != nullptr) {
            nvmlMemory_v2_t memory{};
            memory.version = nvmlMemory_v2;
            const nvmlReturn_t got = nvml_.nvmlDeviceGetMemoryInfo_v2(device, &memory);
            if (got == NVML_SUCCESS) {
                out.memory = {static_cast<std::int64_t>(memory.total)};
                out.reserved = {static_cast<std::int64_t>(memory.reserved)};
                out.used = {static_cast<std::int64_t>(memory.used)};
                return got;
            }
            if (got == NVML_ERROR_GPU_IS_LOST) return got;
        }
        nvmlMemory_t memory{};
        const nvmlReturn_t got = nvml_.nvmlDeviceGetMemoryInfo(device, &memory);
        out.memory = {static_cast<std::int64_t>(memory.total)};
        out.used = {static_cast<std::int64_t>(memory.used)};
        return got;
    }

    RecoveryAction read_recovery(nvmlDevice_t device) const {
        if (nvml_.nvmlDeviceGetFieldValues == nullptr) return RecoveryAction::unknown;
        nvmlFieldValue_t value{};
        value.fieldId = NVML_FI_DEV_GET_GPU_RECOVERY_ACTION;
        const nvmlReturn_t got = nvml_.nvmlDeviceGetFieldValues(device, 1, &value);
        if (got != NVML_SUCCESS || value.nvmlReturn != NVML_SUCCESS) return RecoveryAction::unknown;
        return value.value.uiVal == NVML_GPU_RECOVERY_ACTION_NONE ? RecoveryAction::none
                                                                  : RecoveryAction::needed;
    }

    void* library_;
    const Nvml nvml_;
    // Of the thread that waits for faults.
    nvmlEventSet_t events_ = nullptr;
    std::set<nvmlDevice_t> subscribed_;
    std::mutex mutex_;
    // Guarded by mutex_. A handle is the same card for the life of the process; an index need not
    // be.
    std::map<nvmlDevice_t, GpuReading> known_;  // as last read
    std::map<unsigned, nvmlDevice_t> handles_;  // by index, as last given
    LinkReader links_;
    std::set<unsigned> skipped_;  // cards that never said who they are: log once
};

}  // namespace

Result<std::unique_ptr<GpuInventory>> open_nvml(const std::string& driver_root) {
    std::string searched;
    for (const char* folder : kLibraryFolders) {
        const std::string path =
            driver_root + (driver_root.ends_with('/') ? "" : "/") + folder + "/" + kLibrary;
        void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            searched += "; " + std::string(dlerror());
            continue;
        }
        TRY(const Nvml nvml, resolve(library));
        const nvmlReturn_t got = nvml.nvmlInit_v2();
        if (got != NVML_SUCCESS) {
            return fail(Code::unavailable,
                        fmt::format("{}: nvmlInit: {}", path, nvml.nvmlErrorString(got)));
        }
        return std::make_unique<NvmlInventory>(library, nvml);
    }
    return fail(Code::unavailable,
                fmt::format("no {} under {}: is NVIDIA's driver installed, and is "
                            "driver_root right?{}",
                            kLibrary, driver_root, searched));
}

}  // namespace tessera
