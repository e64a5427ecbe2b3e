// What NVML shows a program: its share as if that were the GPU, and the processes of its own
// container. The calling process may never have used a GPU. So it takes no process slot in the
// accounts, the driver is not loaded for it, and it may have no write access.
#include "guard/inject/nvml.hpp"

#include <atomic>
#include <cstdint>

#include "guard/process/place.hpp"
#include "guard/region/accounts_reader.hpp"
#include "guard/region/limits.hpp"
#include "guard/region/uuid.hpp"

using namespace tessera::guard;  // the hooks are extern "C", outside the namespace

namespace {

constexpr unsigned kNoMigInstance = 0xFFFFFFFF;

// NVML's own function, for its hook.
template <typename Function>
class Entered {
  public:
    explicit Entered(Function Nvml::* slot)
        : real_(nvml() != nullptr ? &(nvml()->*slot) : nullptr) {}

    // Whether the hook has something to do. If not, return real(...).
    [[nodiscard]] bool must_enforce() const {
        return real_ != nullptr && *real_ && !InDriver::is_now();
    }

    template <typename... Arguments>
    nvmlReturn_t operator()(Arguments... arguments) const {
        if (real_ == nullptr) return NVML_ERROR_LIBRARY_NOT_FOUND;
        return *real_ ? (*real_)(arguments...) : NVML_ERROR_FUNCTION_NOT_FOUND;
    }

  private:
    const Function* real_;
};

constinit std::atomic<bool> has_complained = false;
constinit std::atomic<const Limits*> kept_limits = nullptr;

// The container's limits, mapped once.
const Limits* limits() {
    const Limits* known = kept_limits.load(std::memory_order_acquire);
    if (known != nullptr) return known;
    char path[kMaxPath];
    const bool has_place = path_of(kLimitsName, path);
    const Limits* opened = has_place ? open_limits(path) : nullptr;
    if (opened == nullptr) {
        complain(has_complained, has_place ? path : "the guard's library",
                 has_place ? fault_of(errno, kOtherLayout) : kNoPlace);
        return nullptr;
    }
    if (kept_limits.compare_exchange_strong(known, opened)) return opened;
    close_limits(opened);
    return known;
}

// The container's share of a GPU, and the processes that hold some of it.
struct Share {
    std::uint64_t limit = 0;  // bytes
    std::uint64_t held = 0;
    int count = 0;
    ProcessMemory holders[kMaxProcesses];
};

// The container gets no information about a GPU that it has no share of.
nvmlReturn_t find_share(nvmlDevice_t device, Share& share) {
    char text[NVML_DEVICE_UUID_V2_BUFFER_SIZE];
    const nvmlReturn_t error = nvml()->nvmlDeviceGetUUID(device, text, sizeof text);
    if (error != NVML_SUCCESS) return error;
    const Limits* all = limits();
    if (all == nullptr) return NVML_ERROR_OPERATING_SYSTEM;
    std::uint8_t uuid[16];
    const int gpu = read_uuid(text, uuid) ? find_gpu(*all, uuid) : -1;
    if (gpu < 0) return NVML_ERROR_NO_PERMISSION;
    char path[kMaxPath];
    AllocationUnits orphaned = 0;
    share.count =
        path_of(kAccountsName, path) ? find_holders(path, gpu, share.holders, orphaned) : -1;
    if (share.count < 0) {
        complain(has_complained, path, {"cannot be read"});
        return NVML_ERROR_OPERATING_SYSTEM;
    }
    share.limit = all->gpus[gpu].memory.load(std::memory_order_relaxed) * kAllocationUnitBytes;
    share.held = orphaned * kAllocationUnitBytes;
    for (int i = 0; i < share.count; i++)
        share.held += share.holders[i].units * kAllocationUnitBytes;
    return NVML_SUCCESS;
}

// `memory` is the state of the GPU. The share shown is not larger than the GPU. Usage is shown up
// to the share, because a limit may have been lowered below what is held.
template <typename Memory>
nvmlReturn_t show_share(nvmlDevice_t device, Memory& memory) {
    Share share;
    if (const nvmlReturn_t error = find_share(device, share); error != NVML_SUCCESS) return error;
    if (share.limit < memory.total) memory.total = share.limit;
    memory.used = share.held < memory.total ? share.held : memory.total;
    memory.free = memory.total - memory.used;
    return NVML_SUCCESS;
}

void set_info(nvmlProcessInfo_v1_t& info, const ProcessMemory& holder) {
    info = {static_cast<unsigned>(holder.pid), holder.units * kAllocationUnitBytes};
}

void set_info(nvmlProcessInfo_v2_t& info, const ProcessMemory& holder) {
    info = {static_cast<unsigned>(holder.pid), holder.units * kAllocationUnitBytes, kNoMigInstance,
            kNoMigInstance};
}

// Calls NVML itself without room for results, so that it reports what is wrong with the device. The
// share may have no processes.
template <typename Function, typename Info>
nvmlReturn_t list(const Entered<Function>& real, nvmlDevice_t device, unsigned* count, Info* infos,
                  bool is_of_compute) {
    if (!real.must_enforce() || count == nullptr || (infos == nullptr && *count > 0))
        return real(device, count, infos);
    unsigned all = 0;
    const nvmlReturn_t error = real(device, &all, static_cast<Info*>(nullptr));
    if (error != NVML_SUCCESS && error != NVML_ERROR_INSUFFICIENT_SIZE) return error;
    Share share;
    if (const nvmlReturn_t no = find_share(device, share); no != NVML_SUCCESS) return no;
    const unsigned room = *count;
    *count = is_of_compute ? static_cast<unsigned>(share.count) : 0;
    if (*count > room) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < *count; i++)
        set_info(infos[i], share.holders[i]);
    return NVML_SUCCESS;
}

}  // namespace

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
    const Entered real(&Nvml::nvmlDeviceGetMemoryInfo);
    if (!real.must_enforce() || memory == nullptr) return real(device, memory);
    nvmlMemory_t shown = {};
    nvmlReturn_t result = real(device, &shown);
    if (result == NVML_SUCCESS) result = show_share(device, shown);
    if (result == NVML_SUCCESS) *memory = shown;
    return result;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
    const Entered real(&Nvml::nvmlDeviceGetMemoryInfo_v2);
    if (!real.must_enforce() || memory == nullptr || memory->version != nvmlMemory_v2)
        return real(device, memory);
    nvmlMemory_v2_t shown = {};
    shown.version = nvmlMemory_v2;
    nvmlReturn_t result = real(device, &shown);
    if (result == NVML_SUCCESS) result = show_share(device, shown);
    shown.reserved = 0;
    if (result == NVML_SUCCESS) *memory = shown;
    return result;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int* count,
                                                  nvmlProcessInfo_v1_t* infos) {
    return list(Entered(&Nvml::nvmlDeviceGetComputeRunningProcesses), device, count, infos, true);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int* count,
                                                     nvmlProcessInfo_v2_t* infos) {
    return list(Entered(&Nvml::nvmlDeviceGetComputeRunningProcesses_v2), device, count, infos,
                true);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int* count,
                                                     nvmlProcessInfo_t* infos) {
    return list(Entered(&Nvml::nvmlDeviceGetComputeRunningProcesses_v3), device, count, infos,
                true);
}

// The accounts list compute processes. Graphics processes and MPS clients of this container are not
// known, and those of other containers are not shown.
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t device, unsigned int* count,
                                                   nvmlProcessInfo_v1_t* infos) {
    return list(Entered(&Nvml::nvmlDeviceGetGraphicsRunningProcesses), device, count, infos, false);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t device, unsigned int* count,
                                                      nvmlProcessInfo_v2_t* infos) {
    return list(Entered(&Nvml::nvmlDeviceGetGraphicsRunningProcesses_v2), device, count, infos,
                false);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int* count,
                                                      nvmlProcessInfo_t* infos) {
    return list(Entered(&Nvml::nvmlDeviceGetGraphicsRunningProcesses_v3), device, count, infos,
                false);
}

nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses(nvmlDevice_t device, unsigned int* count,
                                                     nvmlProcessInfo_v1_t* infos) {
    return list(Entered(&Nvml::nvmlDeviceGetMPSComputeRunningProcesses), device, count, infos,
                false);
}

nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int* count,
                                                        nvmlProcessInfo_v2_t* infos) {
    return list(Entered(&Nvml::nvmlDeviceGetMPSComputeRunningProcesses_v2), device, count, infos,
                false);
}

nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int* count,
                                                        nvmlProcessInfo_t* infos) {
    return list(Entered(&Nvml::nvmlDeviceGetMPSComputeRunningProcesses_v3), device, count, infos,
                false);
}
