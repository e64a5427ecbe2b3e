#include "adapters/nvml/nvml_gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tessera {
namespace {

// The largest reserve, as a fraction of the memory, for a driver that reports neither its reserve
// nor, perhaps, the memory per process. No driver that we know keeps more.
constexpr std::int64_t kReservePart = 32;

RecoveryAction action_of(unsigned action) {
    switch (action) {
        case NVML_GPU_RECOVERY_ACTION_NONE:
            return RecoveryAction::none;
        case NVML_GPU_RECOVERY_ACTION_GPU_RESET:
            return RecoveryAction::reset;
        case NVML_GPU_RECOVERY_ACTION_NODE_REBOOT:
            return RecoveryAction::reboot;
        case NVML_GPU_RECOVERY_ACTION_DRAIN_P2P:
            return RecoveryAction::drain_peers;
        case NVML_GPU_RECOVERY_ACTION_DRAIN_AND_RESET:
            return RecoveryAction::drain_and_reset;
        default:
            return RecoveryAction::other;
    }
}

// More than any GPU lists. Without this limit, a driver that always reports more processes would
// cause an endless loop.
constexpr std::size_t kMostProcesses = std::size_t{1} << 16;

// NVML's "not available" is the largest number. A report with an impossible size would be refused
// as a whole (docs/formats/node-gpus.md).
bool is_size(Bytes memory) {
    return memory > Bytes{} && memory <= kMostGpuMemory;
}

// Single-precision cores (CUDA programming guide, "Compute Capabilities"); 0: unknown.
int cores_of_multiprocessor(int major, int minor) {
    if (major == 7 || (major == 8 && minor == 0)) return 64;
    return major >= 8 && major <= 12 ? 128 : 0;
}

}  // namespace

ComputeMode compute_mode_of(nvmlComputeMode_t mode) {
    switch (mode) {
        case NVML_COMPUTEMODE_DEFAULT:
            return ComputeMode::shared;
        case NVML_COMPUTEMODE_PROHIBITED:
            return ComputeMode::prohibited;
        case NVML_COMPUTEMODE_EXCLUSIVE_THREAD:
        case NVML_COMPUTEMODE_EXCLUSIVE_PROCESS:
            break;
    }
    return ComputeMode::exclusive;
}

nvmlReturn_t GpuReader::read(nvmlDevice_t device, unsigned index, GpuReading& out) {
    std::array<char, NVML_DEVICE_UUID_V2_BUFFER_SIZE> uuid{};
    nvmlReturn_t got = nvml_.nvmlDeviceGetUUID(device, uuid.data(), uuid.size());
    if (got != NVML_SUCCESS) return got;
    out.uuid = GpuUuid(uuid.data());
    out.index = static_cast<int>(index);

    std::array<char, NVML_DEVICE_NAME_V2_BUFFER_SIZE> name{};
    if (nvml_.nvmlDeviceGetName(device, name.data(), name.size()) == NVML_SUCCESS)
        out.model = name.data();
    unsigned minor = 0;
    if (nvml_.nvmlDeviceGetMinorNumber(device, &minor) == NVML_SUCCESS)
        out.minor = static_cast<int>(minor);

    got = read_memory(device, out);
    if (got != NVML_SUCCESS && got != NVML_ERROR_NOT_SUPPORTED) return got;
    out.setup.knows_memory = got == NVML_SUCCESS && is_size(out.memory) &&
                             out.reserved >= Bytes{} && out.reserved < out.memory;
    if (!out.setup.knows_memory) out.memory = out.reserved = out.used = Bytes{};
    read_modes(device, out.setup);
    read_multiprocessors(device, out);
    out.recovery = read_recovery(device);
    out.faults = read_faults(device);
    return NVML_SUCCESS;
}

nvmlReturn_t GpuReader::read_memory(nvmlDevice_t device, GpuReading& out) {
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
        // Other errors do not mean that the call is missing, and the older call would report
        // another reserve.
        if (got != NVML_ERROR_NOT_SUPPORTED && got != NVML_ERROR_FUNCTION_NOT_FOUND &&
            got != NVML_ERROR_ARGUMENT_VERSION_MISMATCH) {
            return got;
        }
    }
    nvmlMemory_t memory{};
    const nvmlReturn_t got = nvml_.nvmlDeviceGetMemoryInfo(device, &memory);
    if (got != NVML_SUCCESS) return got;
    out.memory = {static_cast<std::int64_t>(memory.total)};
    out.used = {static_cast<std::int64_t>(memory.used)};
    out.reserved = reserve_of(device, out);
    out.used = std::max(out.used - out.reserved, Bytes{});
    return got;
}

// The older call counts the reserve as used, so the memory that no process uses is the driver's.
Bytes GpuReader::reserve_of(nvmlDevice_t device, const GpuReading& reading) {
    const auto known = reserves_.find(reading.uuid);
    if (known != reserves_.end()) return known->second;
    // The rest may also belong to processes that the driver does not show to this one.
    const Bytes most{reading.memory.count / kReservePart};
    std::vector<GpuProcess> processes;
    if (!add_processes(device, reading.uuid, processes)) return most;
    Bytes of_processes;
    for (const GpuProcess& process : processes)
        of_processes += process.used;
    const Bytes rest = std::max(reading.used - of_processes, Bytes{});
    return reserves_[reading.uuid] = std::min(rest, most);
}

// NVML counts cores only. A compute capability that is not known here has no number.
void GpuReader::read_multiprocessors(nvmlDevice_t device, GpuReading& out) const {
    int major = 0;
    int minor = 0;
    unsigned cores = 0;
    if (nvml_.nvmlDeviceGetCudaComputeCapability == nullptr ||
        nvml_.nvmlDeviceGetCudaComputeCapability(device, &major, &minor) != NVML_SUCCESS)
        return;
    out.compute_major = major;
    const int each = cores_of_multiprocessor(major, minor);
    if (each > 0 && nvml_.nvmlDeviceGetNumGpuCores != nullptr &&
        nvml_.nvmlDeviceGetNumGpuCores(device, &cores) == NVML_SUCCESS)
        out.multiprocessors = static_cast<int>(cores) / each;
}

// An error (no MIG on this GPU, no permission) counts as off and default.
void GpuReader::read_modes(nvmlDevice_t device, GpuSetup& out) const {
    unsigned current = NVML_DEVICE_MIG_DISABLE;
    unsigned pending = NVML_DEVICE_MIG_DISABLE;
    out.mig = nvml_.nvmlDeviceGetMigMode != nullptr &&
              nvml_.nvmlDeviceGetMigMode(device, &current, &pending) == NVML_SUCCESS &&
              current == NVML_DEVICE_MIG_ENABLE;
    nvmlComputeMode_t mode = NVML_COMPUTEMODE_DEFAULT;
    if (nvml_.nvmlDeviceGetComputeMode != nullptr &&
        nvml_.nvmlDeviceGetComputeMode(device, &mode) == NVML_SUCCESS) {
        out.compute_mode = compute_mode_of(mode);
    }
}

RecoveryAction GpuReader::read_recovery(nvmlDevice_t device) const {
    if (nvml_.nvmlDeviceGetFieldValues == nullptr) return RecoveryAction::unknown;
    nvmlFieldValue_t value{};
    value.fieldId = NVML_FI_DEV_GET_GPU_RECOVERY_ACTION;
    const nvmlReturn_t got = nvml_.nvmlDeviceGetFieldValues(device, 1, &value);
    if (got != NVML_SUCCESS || value.nvmlReturn != NVML_SUCCESS) return RecoveryAction::unknown;
    return action_of(value.value.uiVal);
}

MemoryFaults GpuReader::read_faults(nvmlDevice_t device) const {
    MemoryFaults out;
    unsigned corrected = 0;
    unsigned uncorrected = 0;
    unsigned is_pending = 0;
    unsigned has_failed = 0;
    if (nvml_.nvmlDeviceGetRemappedRows != nullptr &&
        nvml_.nvmlDeviceGetRemappedRows(device, &corrected, &uncorrected, &is_pending,
                                        &has_failed) == NVML_SUCCESS) {
        out.remap_pending = is_pending != 0;
        out.remap_failed = has_failed != 0;
    }
    nvmlEnableState_t retires = NVML_FEATURE_DISABLED;
    out.retire_pending =
        nvml_.nvmlDeviceGetRetiredPagesPendingStatus != nullptr &&
        nvml_.nvmlDeviceGetRetiredPagesPendingStatus(device, &retires) == NVML_SUCCESS &&
        retires == NVML_FEATURE_ENABLED;
    unsigned long long errors = 0;
    out.uncorrected =
        nvml_.nvmlDeviceGetTotalEccErrors != nullptr &&
        nvml_.nvmlDeviceGetTotalEccErrors(device, NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
                                          NVML_VOLATILE_ECC, &errors) == NVML_SUCCESS &&
        errors > 0;
    return out;
}

// There may be more processes at the second call; then it is repeated.
Result<> GpuReader::add_processes(nvmlDevice_t device, const GpuUuid& uuid,
                                  std::vector<GpuProcess>& found) const {
    if (nvml_.nvmlDeviceGetComputeRunningProcesses_v3 == nullptr)
        return fail(Code::unsupported, "the driver's NVML is too old to list processes");
    std::vector<nvmlProcessInfo_t> infos(16);
    nvmlReturn_t got = NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned count = 0;
         got == NVML_ERROR_INSUFFICIENT_SIZE && infos.size() <= kMostProcesses;) {
        count = static_cast<unsigned>(infos.size());
        got = nvml_.nvmlDeviceGetComputeRunningProcesses_v3(device, &count, infos.data());
        infos.resize(got == NVML_SUCCESS ? count : infos.size() * 2);
    }
    if (got == NVML_ERROR_GPU_IS_LOST) return {};
    if (got != NVML_SUCCESS) {
        return fail(Code::unavailable, fmt::format("nvmlDeviceGetComputeRunningProcesses: {}",
                                                   nvml_.nvmlErrorString(got)));
    }
    bool are_all_known = true;
    for (const nvmlProcessInfo_t& info : infos) {
        // NVML's "not available" is the largest number.
        const auto used = static_cast<std::int64_t>(info.usedGpuMemory);
        are_all_known &= used >= 0;
        if (used >= 0) found.push_back({.gpu = uuid, .pid = info.pid, .used = {used}});
    }
    if (are_all_known) return {};
    return fail(Code::unsupported,
                fmt::format("the driver does not say what each process uses of {}", uuid.str()));
}

}  // namespace tessera
