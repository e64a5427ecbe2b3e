// What a program is told by NVML: its share, as if that were the card, and the processes of its own
// container. Who asks may never have used a GPU: he takes no seat in the accounts, the driver is
// not loaded for him, and he may not be allowed to write.
#include "guard/inject/nvml.hpp"

#include <atomic>
#include <cstdint>

#include "guard/process/place.hpp"
#include "guard/region/limits.hpp"
#include "guard/region/look.hpp"
#include "guard/region/uuid.hpp"

using namespace tessera::guard;  // the hooks are extern "C" and stand outside

namespace {

constexpr unsigned kNoMigInstance = 0xFFFFFFFF;

// NVML's own function, for a hook that stands before it.
template <typename Function>
class Entered {
  public:
    explicit Entered(Function Nvml::* slot)
        : real_(nvml() != nullptr ? &(nvml()->*slot) : nullptr) {}

    // The hook has something to do. If not, real() is all there is to be said.
    [[nodiscard]] bool is_held() const { return real_ != nullptr && *real_ && !InDriver::is_now(); }

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

// Of the container, mapped once.
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

// The container's share of a card, and who holds something of it.
struct Share {
    std::uint64_t limit = 0;  // bytes
    std::uint64_t held = 0;
    int count = 0;
    Holder holders[kMaxProcesses];
};

// A card of which the container has no share is none of its business.
nvmlReturn_t find_share(nvmlDevice_t device, Share& share) {
    char text[NVML_DEVICE_UUID_V2_BUFFER_SIZE];
    const nvmlReturn_t error = nvml()->nvmlDeviceGetUUID(device, text, sizeof text);
    if (error != NVML_SUCCESS) return error;
    const Limits* all = limits();
    if (all == nullptr) return NVML_ERROR_OPERATING_SYSTEM;
    std::uint8_t uuid[16];
    const int card = read_uuid(text, uuid) ? find_card(*all, uuid) : -1;
    if (card < 0) return NVML_ERROR_NO_PERMISSION;
    char path[kMaxPath];
    Granules nobodys = 0;
    share.count =
        path_of(kAccountsName, path) ? find_holders(path, card, share.holders, nobodys) : -1;
    if (share.count < 0) {
        complain(has_complained, path, {"cannot be read"});
        return NVML_ERROR_OPERATING_SYSTEM;
    }
    share.limit = all->cards[card].memory.load(std::memory_order_relaxed) * kGranuleBytes;
    share.held = nobodys * kGranuleBytes;
    for (int i = 0; i < share.count; i++)
        share.held += share.holders[i].granules * kGranuleBytes;
    return NVML_SUCCESS;
}

// `memory` is what is true of the card. A share is not more than that, and no more of it is used
// than there is: a limit may have been lowered below what is held.
template <typename Memory>
nvmlReturn_t show_share(nvmlDevice_t device, Memory& memory) {
    Share share;
    if (const nvmlReturn_t error = find_share(device, share); error != NVML_SUCCESS) return error;
    if (share.limit < memory.total) memory.total = share.limit;
    memory.used = share.held < memory.total ? share.held : memory.total;
    memory.free = memory.total - memory.used;
    return NVML_SUCCESS;
}

void set_info(nvmlProcessInfo_v1_t& info, const Holder& holder) {
    info = {static_cast<unsigned>(holder.pid), holder.granules * kGranuleBytes};
}

void set_info(nvmlProcessInfo_v2_t& info, const Holder& holder) {
    info = {static_cast<unsigned>(holder.pid), holder.granules * kGranuleBytes, kNoMigInstance,
            kNoMigInstance};
}

// Asked for no room, NVML itself says what is wrong with the device, if anything is. `share` may be
// of nobody.
template <typename Function, typename Info>
nvmlReturn_t list(const Entered<Function>& real, nvmlDevice_t device, unsigned* count, Info* infos,
                  bool is_of_compute) {
    if (!real.is_held() || count == nullptr || (infos == nullptr && *count > 0))
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
    if (!real.is_held() || memory == nullptr) return real(device, memory);
    nvmlMemory_t shown = {};
    nvmlReturn_t result = real(device, &shown);
    if (result == NVML_SUCCESS) result = show_share(device, shown);
    if (result == NVML_SUCCESS) *memory = shown;
    return result;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
    const Entered real(&Nvml::nvmlDeviceGetMemoryInfo_v2);
    if (!real.is_held() || memory == nullptr || memory->version != nvmlMemory_v2)
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

// The accounts know who computes. Who draws and who is a client of MPS is not known, and whoever is
// on the card is not of this container.
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
