// Memory limits of cgroups (gpusim/state/cgroups.hpp). Source: NVML API reference, r615.
#include <pthread.h>
#include <unistd.h>

#include "gpusim/nvml/session.hpp"
#include "gpusim/state/cgroups.hpp"

using gpusim::Gpu;
using gpusim::nvml;

namespace {

// The state again, for writing: NVML maps it for reading only. It stays open, as closing it would
// drop the locks of a CUDA driver in this process (locks.hpp).
constinit gpusim::State writable = {};
constinit pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

nvmlReturn_t check_supported(nvmlDevice_t device, const char* name_space, const Gpu** gpu) {
    if (const nvmlReturn_t error = gpusim::find_gpu(device, gpu); error != NVML_SUCCESS) {
        return error;
    }
    if (nvml.state.file->memory_limits.load() == gpusim::MemoryLimits::off ||
        (*gpu)->mig_mode.load() == NVML_DEVICE_MIG_ENABLE)
        return NVML_ERROR_NOT_SUPPORTED;
    return name_space == nullptr ? NVML_ERROR_INVALID_ARGUMENT : NVML_SUCCESS;
}

nvmlReturn_t write_limits(const gpusim::CgroupName& name, int gpu, gpusim::Limits limits) {
    if (gpusim::open_state(writable, nvml.state.directory, gpusim::Access::read_write) !=
        gpusim::OpenResult::ok)
        return NVML_ERROR_NO_PERMISSION;
    if (!gpusim::lock_byte_by_descriptor(writable.locks_fd, gpusim::kDecisionLock))
        return NVML_ERROR_UNKNOWN;
    const bool is_set = gpusim::set_limits(writable, name, gpu, limits);
    gpusim::unlock_byte_by_descriptor(writable.locks_fd, gpusim::kDecisionLock);
    return is_set ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_RESOURCES;
}

}  // namespace

nvmlReturn_t nvmlDeviceSetMemoryLimits_v1(nvmlDevice_t device, nvmlSetMemoryLimits_v1_t* limits) {
    const Gpu* gpu = nullptr;
    if (limits == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const nvmlReturn_t error = check_supported(device, limits->nameSpace, &gpu);
    if (error != NVML_SUCCESS) return error;
    if (geteuid() != 0) return NVML_ERROR_NO_PERMISSION;
    gpusim::CgroupName name;
    if (!gpusim::name_of_cgroup(limits->nameSpace, name)) return NVML_ERROR_NOT_FOUND;
    const bool is_whole = limits->softLimit == NVML_DEVICE_MEMORY_LIMIT_MAX;
    const gpusim::Limits wanted = {is_whole ? gpusim::capacity_bytes(*gpu) : limits->softLimit,
                                   limits->hardLimit};
    if (wanted.soft_bytes > wanted.hard_bytes) return NVML_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&writing);
    const nvmlReturn_t result = write_limits(name, device->gpu, wanted);
    pthread_mutex_unlock(&writing);
    return result;
}

nvmlReturn_t nvmlDeviceGetMemoryLimits_v1(nvmlDevice_t device, nvmlGetMemoryLimits_v1_t* limits) {
    const Gpu* gpu = nullptr;
    if (limits == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const nvmlReturn_t error = check_supported(device, limits->nameSpace, &gpu);
    if (error != NVML_SUCCESS) return error;
    gpusim::CgroupName name;
    if (!gpusim::name_of_cgroup(limits->nameSpace, name)) return NVML_ERROR_NOT_FOUND;
    const gpusim::GpusFile& file = *nvml.state.file;
    const std::uint32_t entry = gpusim::find_cgroup(file, name);
    limits->softLimit = 0;
    limits->hardLimit = NVML_DEVICE_MEMORY_LIMIT_MAX;
    limits->currentUsed = 0;
    if (entry == gpusim::kNoCgroup) return NVML_SUCCESS;
    const gpusim::Limits now = gpusim::limits_of(file, entry, device->gpu);
    limits->softLimit = now.soft_bytes;
    limits->hardLimit = now.hard_bytes;
    limits->currentUsed = gpusim::cgroup_bytes(nvml.state, entry, device->gpu);
    return NVML_SUCCESS;
}
