#include "guard/process/devices.hpp"

#include <cstdio>
#include <cstring>

#include "guard/inject/driver.hpp"
#include "guard/process/charges.hpp"
#include "guard/process/state.hpp"
#include "guard/region/limits.hpp"
#include "guard/region/uuid.hpp"

namespace tessera::guard {

int gpu_of(CUdevice device) {
    Process& here = *process();
    if (device < 0 || device >= kMaxDevices) return -1;
    const int known = here.gpus[device].load(std::memory_order_relaxed);
    if (known != 0) return known - 1;
    CUuuid uuid;
    if (driver()->cuDeviceGetUuid(&uuid, device) != CUDA_SUCCESS) return -1;
    std::uint8_t bytes[sizeof uuid.bytes];
    std::memcpy(bytes, uuid.bytes, sizeof bytes);
    const int gpu = find_gpu(*here.limits, bytes);
    here.gpus[device].store(gpu + 1, std::memory_order_relaxed);
    return gpu;
}

bool is_of_others(CUdevice device) {
    CUuuid uuid;
    return gpu_of(device) < 0 && driver()->cuDeviceGetUuid(&uuid, device) == CUDA_SUCCESS;
}

CUresult refuse_gpu_of_others(CUdevice device) {
    CUuuid uuid;
    if (driver()->cuDeviceGetUuid(&uuid, device) != CUDA_SUCCESS) return kNotGuarded;
    std::uint8_t bytes[sizeof uuid.bytes];
    std::memcpy(bytes, uuid.bytes, sizeof bytes);
    char gpu[kUuidText + 1];
    write_uuid(bytes, gpu);
    Process& here = *process();
    char line[400];
    const int length = std::snprintf(
        line, sizeof line,
        "tessera-guard: this container has no share of GPU %s: its limits name %s. If "
        "CUDA_VISIBLE_DEVICES or NVIDIA_VISIBLE_DEVICES was changed, put it back; else restart the "
        "pod, and if that does not help, see the agent's log on this node.\n",
        gpu, here.limits->gpu_count == 0 ? "no GPU" : "others");
    if (length > 0) say_once(here.has_told_of_others, line);
    return kNotGuarded;
}

CUdevice device_of(int gpu) {
    const Process& here = *process();
    for (CUdevice device = 0; device < kMaxDevices; device++)
        if (here.gpus[device].load(std::memory_order_relaxed) == gpu + 1) return device;
    return -1;
}

CUresult find_current(Current& current) {
    const Driver& real = *driver();
    CUdevice device = 0;
    if (const CUresult error = real.cuCtxGetDevice(&device); error != CUDA_SUCCESS) return error;
    if (const CUresult error = real.cuCtxGetCurrent(&current.context); error != CUDA_SUCCESS)
        return error;
    current.gpu = gpu_of(device);
    return current.gpu >= 0 ? CUDA_SUCCESS : kNotGuarded;
}

bool is_default(CUstream stream) {
    return stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

CUresult find_owner(CUstream stream, Current& owner) {
    const CUresult none = find_current(owner);
    CUcontext context = nullptr;
    const auto& ask = driver()->cuStreamGetCtx;
    if (is_default(stream) || !ask || ask(stream, &context) != CUDA_SUCCESS ||
        context == owner.context)
        return none;
    const int gpu = gpu_of_record(reinterpret_cast<std::uint64_t>(context));
    if (gpu < 0) return none;
    owner = {context, gpu};
    return CUDA_SUCCESS;
}

Current owner_of(CUstream stream) {
    Current owner;
    return find_owner(stream, owner) == CUDA_SUCCESS ? owner : Current{};
}

}  // namespace tessera::guard
