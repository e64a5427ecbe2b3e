// The use of a GPU: memory, processes, utilization, field values.
#include <ctime>

#include "gpusim/nvml/session.hpp"
#include "gpusim/state/cgroups.hpp"
#include "gpusim/state/compute_mode.hpp"
#include "gpusim/state/timeline.hpp"

using gpusim::Gpu;
using gpusim::nvml;

namespace {

constexpr unsigned kNoMigInstance = 0xFFFFFFFF;
constexpr std::uint64_t kNotAvailable = ~std::uint64_t{0};  // what a process uses
constexpr std::int64_t kUtilizationWindowNs = 1'000'000'000 / 6;

struct Memory {
    std::uint64_t total;
    std::uint64_t reserved;
    std::uint64_t used;  // without reserved
    std::uint64_t free;
};

nvmlReturn_t read_memory(nvmlDevice_t device, Memory* memory) {
    const Gpu* gpu = nullptr;
    if (const nvmlReturn_t error = gpusim::find_gpu(device, &gpu); error != NVML_SUCCESS) {
        return error;
    }
    if (gpusim::hides(*gpu, gpusim::kHidesMemory)) return NVML_ERROR_NOT_SUPPORTED;
    if (gpusim::hides(*gpu, gpusim::kFailsMemory)) return NVML_ERROR_UNKNOWN;
    if (gpusim::hides(*gpu, gpusim::kHidesSizeAlone)) {
        *memory = {0, gpu->reserved_bytes, 0, 0};
        return NVML_SUCCESS;
    }
    // Without the decision lock the sum may mix two moments and exceed what a GPU can have.
    const std::uint64_t capacity = gpusim::capacity_bytes(*gpu);
    const std::uint64_t sum = gpusim::used_bytes(nvml.state, device->gpu);
    const std::uint64_t used = sum < capacity ? sum : capacity;
    *memory = {gpu->memory_bytes, gpu->reserved_bytes, used, capacity - used};
    return NVML_SUCCESS;
}

// What a program in a cgroup with a limit sees. That the driver's reserve is left out is a guess.
void limit_to_cgroup(int gpu, Memory& memory) {
    const gpusim::GpusFile& file = *nvml.state.file;
    gpusim::CgroupName name;
    if (file.memory_limits.load() == gpusim::MemoryLimits::off ||
        gpusim::own_cgroup_name(name) != gpusim::CgroupText::found)
        return;
    const std::uint32_t seen = gpusim::cgroup_seen_by(file, name, gpu);
    if (seen == gpusim::kNoCgroup) return;
    const std::uint64_t limit = file.cgroups[seen].hard_bytes[gpu].load();
    if (limit >= gpusim::capacity_bytes(file.gpus[gpu])) return;
    const std::uint64_t sum = gpusim::cgroup_bytes(nvml.state, seen, gpu);
    const std::uint64_t used = sum < limit ? sum : limit;
    const std::uint64_t left = limit - used;
    memory = {limit, 0, used, left < memory.free ? left : memory.free};
}

void set_info(nvmlProcessInfo_v1_t& info, pid_t pid, std::uint64_t bytes) {
    info = {static_cast<unsigned>(pid), bytes};
}

void set_info(nvmlProcessInfo_v2_t& info, pid_t pid, std::uint64_t bytes) {
    info = {static_cast<unsigned>(pid), bytes, kNoMigInstance, kNoMigInstance};
}

enum class Which { all, mps_clients };

// A process without a pid in this pid namespace is left out, as the real driver leaves it out.
template <class Info>
nvmlReturn_t list_processes(nvmlDevice_t device, unsigned* count, Info* infos,
                            Which which = Which::all) {
    const Gpu* gpu = nullptr;
    if (const nvmlReturn_t error = gpusim::find_gpu(device, &gpu); error != NVML_SUCCESS) {
        return error;
    }
    if (count == nullptr || (infos == nullptr && *count > 0)) return NVML_ERROR_INVALID_ARGUMENT;
    const unsigned room = *count;
    unsigned found = 0;
    for (int i = 0; i < gpusim::kMaxSlots; i++) {
        const gpusim::Slot& slot = nvml.state.file->slots[i];
        const std::uint64_t bytes = gpusim::slot_bytes(nvml.state, i, device->gpu);
        if (bytes == 0 && slot.contexts[device->gpu].load() == 0) continue;
        if (which == Which::mps_clients && !gpusim::is_mps_client(nvml.state, i)) continue;
        const pid_t pid = gpusim::slot_owner(nvml.state, i);
        if (pid == gpusim::kNobody || pid == gpusim::kInvisible) continue;
        const bool is_hidden = gpusim::hides(*gpu, gpusim::kHidesProcessMemory);
        if (found < room) set_info(infos[found], pid, is_hidden ? kNotAvailable : bytes);
        found++;
    }
    *count = found;
    return found <= room ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}

// There are no graphics processes.
template <class Info>
nvmlReturn_t list_nobody(nvmlDevice_t device, unsigned* count, const Info* infos) {
    const Gpu* gpu = nullptr;
    if (const nvmlReturn_t error = gpusim::find_gpu(device, &gpu); error != NVML_SUCCESS) {
        return error;
    }
    if (count == nullptr || (infos == nullptr && *count > 0)) return NVML_ERROR_INVALID_ARGUMENT;
    *count = 0;
    return NVML_SUCCESS;
}

void read_field(const Gpu& gpu, nvmlFieldValue_t& field) {
    timespec now = {};
    clock_gettime(CLOCK_REALTIME, &now);
    field.timestamp = now.tv_sec * 1000000LL + now.tv_nsec / 1000;
    field.latencyUsec = 0;
    field.value = {};
    const bool old = nvml.state.file->nvml_kind.load() == gpusim::NvmlKind::old;
    if (field.fieldId != NVML_FI_DEV_GET_GPU_RECOVERY_ACTION || old) {
        field.nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
        return;
    }
    field.nvmlReturn = NVML_SUCCESS;
    field.valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
    field.value.uiVal = gpu.recovery_action.load();
}

}  // namespace

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
    Memory now = {};
    if (const nvmlReturn_t error = read_memory(device, &now); error != NVML_SUCCESS) return error;
    if (memory == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *memory = {now.total, now.free, now.used + now.reserved};
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
    Memory now = {};
    if (const nvmlReturn_t error = read_memory(device, &now); error != NVML_SUCCESS) return error;
    if (memory == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (gpusim::hides(nvml.state.file->gpus[device->gpu], gpusim::kHidesReserve))
        return NVML_ERROR_NOT_SUPPORTED;
    if (memory->version != nvmlMemory_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    limit_to_cgroup(device->gpu, now);
    *memory = {nvmlMemory_v2, now.total, now.reserved, now.free, now.used};
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int* count,
                                                  nvmlProcessInfo_v1_t* infos) {
    return list_processes(device, count, infos);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int* count,
                                                     nvmlProcessInfo_v2_t* infos) {
    return list_processes(device, count, infos);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int* count,
                                                     nvmlProcessInfo_t* infos) {
    return list_processes(device, count, infos);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t device, unsigned int* count,
                                                   nvmlProcessInfo_v1_t* infos) {
    return list_nobody(device, count, infos);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t device, unsigned int* count,
                                                      nvmlProcessInfo_v2_t* infos) {
    return list_nobody(device, count, infos);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int* count,
                                                      nvmlProcessInfo_t* infos) {
    return list_nobody(device, count, infos);
}

nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses(nvmlDevice_t device, unsigned int* count,
                                                     nvmlProcessInfo_v1_t* infos) {
    return list_processes(device, count, infos, Which::mps_clients);
}

nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int* count,
                                                        nvmlProcessInfo_v2_t* infos) {
    return list_processes(device, count, infos, Which::mps_clients);
}

nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int* count,
                                                        nvmlProcessInfo_t* infos) {
    return list_processes(device, count, infos, Which::mps_clients);
}

// Utilization over a recent window, as a real driver averages. How much of the memory is busy is
// not modelled.
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* utilization) {
    const Gpu* gpu = nullptr;
    if (const nvmlReturn_t error = gpusim::find_gpu(device, &gpu); error != NVML_SUCCESS) {
        return error;
    }
    if (utilization == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const std::int64_t busy = gpusim::busy_ns(nvml.state, {device->gpu, gpusim::Engine::compute},
                                              kUtilizationWindowNs, gpusim::monotonic_ns());
    *utilization = {static_cast<unsigned>(busy * 100 / kUtilizationWindowNs), 0};
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t* values) {
    const Gpu* gpu = nullptr;
    if (const nvmlReturn_t error = gpusim::find_gpu(device, &gpu); error != NVML_SUCCESS) {
        return error;
    }
    if (values == nullptr || count <= 0) return NVML_ERROR_INVALID_ARGUMENT;
    for (int i = 0; i < count; i++)
        read_field(*gpu, values[i]);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int* corrected,
                                       unsigned int* uncorrected, unsigned int* is_pending,
                                       unsigned int* failure_occurred) {
    const Gpu* gpu = nullptr;
    if (const nvmlReturn_t error = gpusim::find_gpu(device, &gpu); error != NVML_SUCCESS) {
        return error;
    }
    if (corrected == nullptr || uncorrected == nullptr || is_pending == nullptr ||
        failure_occurred == nullptr) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    const gpusim::Rows rows = gpu->remapped_rows.load();
    *corrected = 0;
    *uncorrected = rows == gpusim::Rows::good ? 0 : 1;
    *is_pending = rows == gpusim::Rows::pending ? 1 : 0;
    *failure_occurred = rows == gpusim::Rows::failed ? 1 : 0;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetRetiredPagesPendingStatus(nvmlDevice_t device,
                                                    nvmlEnableState_t* is_pending) {
    const Gpu* gpu = nullptr;
    if (const nvmlReturn_t error = gpusim::find_gpu(device, &gpu); error != NVML_SUCCESS) {
        return error;
    }
    if (is_pending == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *is_pending = gpu->retired_pages.load() != 0 ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                         nvmlEccCounterType_t counter, unsigned long long* count) {
    const Gpu* gpu = nullptr;
    if (const nvmlReturn_t error = gpusim::find_gpu(device, &gpu); error != NVML_SUCCESS) {
        return error;
    }
    if (count == nullptr || type > NVML_MEMORY_ERROR_TYPE_UNCORRECTED ||
        counter > NVML_AGGREGATE_ECC) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    *count = type == NVML_MEMORY_ERROR_TYPE_UNCORRECTED ? gpu->uncorrected_errors.load() : 0;
    return NVML_SUCCESS;
}
