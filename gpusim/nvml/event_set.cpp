// nvmlEventSet*: waiting for what gpusimctl does to the GPUs.
#include <cstdlib>
#include <ctime>

#include "gpusim/nvml/session.hpp"
#include "gpusim/state/events.hpp"

using gpusim::Gpu;
using gpusim::nvml;

namespace {

constexpr unsigned long long kSupported =
    nvmlEventTypeSingleBitEccError | nvmlEventTypeDoubleBitEccError | nvmlEventTypeXidCriticalError;
constexpr unsigned kNoMigInstance = 0xFFFFFFFF;
constexpr unsigned kWakeEveryMs = 100;

struct Registration {
    unsigned long long types;
    std::uint64_t after;  // events up to this number happened before the registration
};

}  // namespace

// Thread rule: one thread waits on a set; another may register with it only while none waits.
struct nvmlEventSet_st {
    std::uint64_t seen;  // events up to this number have been handled
    Registration gpus[gpusim::kMaxGpus];
};

namespace {

// Takes the oldest unseen event that the set is registered for.
bool take_event(nvmlEventSet_st& set, nvmlEventData_t* data) {
    const gpusim::GpusFile& file = *nvml.state.file;
    const std::uint64_t newest = file.events_total.load();
    if (newest > set.seen + gpusim::kMaxEvents) set.seen = newest - gpusim::kMaxEvents;
    while (set.seen < newest) {
        set.seen++;
        gpusim::EventRecord record;
        if (!gpusim::read_event(file, set.seen, record)) continue;
        const Registration& wanted = set.gpus[record.gpu];
        if ((wanted.types & record.type) == 0 || set.seen <= wanted.after) continue;
        *data = {&nvml.devices[record.gpu], record.type, record.data, kNoMigInstance,
                 kNoMigInstance};
        return true;
    }
    return false;
}

bool has_lost_gpu(const nvmlEventSet_st& set) {
    for (int gpu = 0; gpu < gpusim::kMaxGpus; gpu++) {
        if (set.gpus[gpu].types != 0 && nvml.state.file->gpus[gpu].lost.load() != 0) {
            return true;
        }
    }
    return false;
}

std::int64_t now_ms() {
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

// Wakes up now and then without a signal: a gpusimctl that was killed may not have rung the bell.
nvmlReturn_t wait_for_event(nvmlEventSet_t set, nvmlEventData_t* data, unsigned timeout_ms) {
    if (const nvmlReturn_t error = gpusim::ready(); error != NVML_SUCCESS) return error;
    if (set == nullptr || data == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const std::int64_t deadline = now_ms() + timeout_ms;
    while (true) {
        const std::uint32_t bell = nvml.state.file->event_bell.load();
        if (take_event(*set, data)) return NVML_SUCCESS;
        if (has_lost_gpu(*set)) return NVML_ERROR_GPU_IS_LOST;
        const std::int64_t left = deadline - now_ms();
        if (left <= 0) return NVML_ERROR_TIMEOUT;
        const bool is_last_sleep = left < std::int64_t{kWakeEveryMs};
        gpusim::wait_for_bell(*nvml.state.file, bell,
                              is_last_sleep ? static_cast<unsigned>(left) : kWakeEveryMs);
    }
}

}  // namespace

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t* set) {
    if (const nvmlReturn_t error = gpusim::ready(); error != NVML_SUCCESS) return error;
    if (set == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    auto* created = static_cast<nvmlEventSet_st*>(std::calloc(1, sizeof(nvmlEventSet_st)));
    if (created == nullptr) return NVML_ERROR_MEMORY;
    created->seen = nvml.state.file->events_total.load();
    *set = created;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long* types) {
    const Gpu* gpu = nullptr;
    if (const nvmlReturn_t error = gpusim::find_gpu(device, &gpu); error != NVML_SUCCESS) {
        return error;
    }
    if (types == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *types = kSupported;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types,
                                      nvmlEventSet_t set) {
    const Gpu* gpu = nullptr;
    if (const nvmlReturn_t error = gpusim::find_gpu(device, &gpu); error != NVML_SUCCESS) {
        return error;
    }
    if (set == nullptr || types == 0) return NVML_ERROR_INVALID_ARGUMENT;
    if ((types & ~kSupported) != 0) return NVML_ERROR_NOT_SUPPORTED;
    Registration& registration = set->gpus[device->gpu];
    if (registration.types == 0) registration.after = nvml.state.file->events_total.load();
    registration.types |= types;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t* data,
                                 unsigned int timeout_ms) {
    return wait_for_event(set, data, timeout_ms);
}

// The first version's struct ended before the instance ids: they must not be written.
nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t* data, unsigned int timeout_ms) {
    nvmlEventData_t event = {};
    const nvmlReturn_t result = wait_for_event(set, data != nullptr ? &event : nullptr, timeout_ms);
    if (result != NVML_SUCCESS) return result;
    data->device = event.device;
    data->eventType = event.eventType;
    data->eventData = event.eventData;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set) {
    // The memory is the library's, so it is released even if the driver was reloaded.
    const nvmlReturn_t error = gpusim::ready();
    if (set == nullptr) return error != NVML_SUCCESS ? error : NVML_ERROR_INVALID_ARGUMENT;
    std::free(set);
    return error;
}
