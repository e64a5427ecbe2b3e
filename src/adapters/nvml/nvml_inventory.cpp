#include "adapters/nvml/nvml_inventory.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <map>
#include <mutex>

#include "api/nvidia/nvml.h"

namespace tessera {
namespace {

// Where distributions put the driver's libraries, under the driver root.
constexpr std::array kLibraryFolders = {
    "usr/lib/x86_64-linux-gnu",  "usr/lib64", "usr/lib",
    "usr/lib/aarch64-linux-gnu", "lib64",     "lib/x86_64-linux-gnu",
};
constexpr const char* kLibrary = "libnvidia-ml.so.1";

struct Nvml {
#define NVML_SYMBOL(name) decltype(&::name) name = nullptr;
#define NVML_OPTIONAL(name) decltype(&::name) name = nullptr;
#include "adapters/nvml/nvml_symbols.def"
#undef NVML_SYMBOL
#undef NVML_OPTIONAL
};

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
    NvmlInventory(void* library, const Nvml& nvml) : library_(library), nvml_(nvml) {}

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
        for (unsigned i = 0; i < count; ++i) {
            nvmlDevice_t device = nullptr;
            nvmlReturn_t got = nvml_.nvmlDeviceGetHandleByIndex_v2(i, &device);
            GpuReading reading;
            if (got == NVML_SUCCESS) got = read_card(device, i, reading);
            if (got == NVML_SUCCESS) {
                known_[i] = reading;
            } else if (got == NVML_ERROR_GPU_IS_LOST && known_.contains(i)) {
                // A lost card no longer says who it is: what it said before still holds.
                reading = known_[i];
                reading.lost = true;
            } else {
                return fail(ok(got, fmt::format("card {}", i)).error());
            }
            readings.push_back(std::move(reading));
        }
        return readings;
    }

    Result<std::optional<GpuFault>> wait_fault(std::chrono::milliseconds timeout) override {
        if (events_ == nullptr) TRY_VOID(subscribe());
        nvmlEventData_t event{};
        const nvmlReturn_t got =
            nvml_.nvmlEventSetWait_v2(events_, &event, static_cast<unsigned>(timeout.count()));
        if (got == NVML_ERROR_TIMEOUT) return std::optional<GpuFault>();
        TRY_VOID(ok(got, "nvmlEventSetWait"));
        GpuFault fault;
        fault.xid = static_cast<int>(event.eventData);
        std::array<char, NVML_DEVICE_UUID_V2_BUFFER_SIZE> uuid{};
        if (event.device != nullptr &&
            nvml_.nvmlDeviceGetUUID(event.device, uuid.data(), uuid.size()) == NVML_SUCCESS) {
            fault.uuid = GpuUuid(uuid.data());
        }
        return std::optional(fault);
    }

  private:
    Result<> ok(nvmlReturn_t result, std::string_view what) const {
        if (result == NVML_SUCCESS) return {};
        return fail(Code::unavailable, fmt::format("{}: {}", what, nvml_.nvmlErrorString(result)));
    }

    Result<> subscribe() {
        const std::scoped_lock lock(mutex_);
        nvmlEventSet_t events = nullptr;
        TRY_VOID(ok(nvml_.nvmlEventSetCreate(&events), "nvmlEventSetCreate"));
        unsigned count = 0;
        nvml_.nvmlDeviceGetCount_v2(&count);
        for (unsigned i = 0; i < count; ++i) {
            nvmlDevice_t device = nullptr;
            if (nvml_.nvmlDeviceGetHandleByIndex_v2(i, &device) != NVML_SUCCESS) continue;
            // A card that cannot report events is still a card: its probes tell.
            nvml_.nvmlDeviceRegisterEvents(device, nvmlEventTypeXidCriticalError, events);
        }
        events_ = events;
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

    nvmlReturn_t read_memory(nvmlDevice_t device, GpuReading& out) const {
        if (nvml_.nvmlDeviceGetMemoryInfo_v2 != nullptr) {
            nvmlMemory_v2_t memory{};
            memory.version = nvmlMemory_v2;
            const nvmlReturn_t got = nvml_.nvmlDeviceGetMemoryInfo_v2(device, &memory);
            if (got == NVML_SUCCESS) {
                out.memory = {static_cast<std::int64_t>(memory.total)};
                out.reserved = {static_cast<std::int64_t>(memory.reserved)};
                return got;
            }
            if (got == NVML_ERROR_GPU_IS_LOST) return got;
        }
        nvmlMemory_t memory{};
        const nvmlReturn_t got = nvml_.nvmlDeviceGetMemoryInfo(device, &memory);
        out.memory = {static_cast<std::int64_t>(memory.total)};
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
    nvmlEventSet_t events_ = nullptr;  // of the thread that waits for faults
    std::mutex mutex_;
    std::map<unsigned, GpuReading> known_;  // guarded by mutex_
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
