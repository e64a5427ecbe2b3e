// gpusmi: prints what NVML says of the memory and the processes of each visible GPU, and ends.
//
// Its lines are stable; scripts grep them:
//     GPU 0: uuid GPU-..., name Tesla T4, used 1073741824 of 16106127360 bytes
//     GPU 0: process 4711 uses 1073741824 bytes
//
// If NVML refuses a query of a GPU, that is a line too: "GPU 1: uuid ..., name ..., memory:
// Insufficient Permissions (4)". If a call fails without which there are no GPUs, it ends with
// status 1 and "gpusmi: nvmlInit: Driver Not Loaded (9)" on stderr. Needs only libc and
// libnvidia-ml.so.1.
#include <cstdio>

#include "api/nvidia/nvml.h"

namespace {

bool check(const char* call, nvmlReturn_t result) {
    if (result == NVML_SUCCESS) return true;
    std::fprintf(stderr, "gpusmi: %s: %s (%d)\n", call, nvmlErrorString(result),
                 static_cast<int>(result));
    return false;
}

void print_memory(nvmlDevice_t device) {
    nvmlMemory_v2_t memory = {};
    memory.version = nvmlMemory_v2;
    const nvmlReturn_t result = nvmlDeviceGetMemoryInfo_v2(device, &memory);
    if (result == NVML_SUCCESS) {
        std::printf("used %llu of %llu bytes\n", memory.used, memory.total);
    } else {
        std::printf("memory: %s (%d)\n", nvmlErrorString(result), static_cast<int>(result));
    }
}

void print_processes(unsigned index, nvmlDevice_t device) {
    constexpr unsigned kRoom = 1024;
    static nvmlProcessInfo_t infos[kRoom];
    unsigned count = kRoom;
    const nvmlReturn_t result = nvmlDeviceGetComputeRunningProcesses_v3(device, &count, infos);
    if (result != NVML_SUCCESS) {
        std::printf("GPU %u: processes: %s (%d)\n", index, nvmlErrorString(result),
                    static_cast<int>(result));
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        std::printf("GPU %u: process %u uses %llu bytes\n", index, infos[i].pid,
                    infos[i].usedGpuMemory);
    }
}

bool print_gpu(unsigned index) {
    nvmlDevice_t device = nullptr;
    char uuid[NVML_DEVICE_UUID_V2_BUFFER_SIZE] = {};
    char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE] = {};
    if (!check("nvmlDeviceGetHandleByIndex", nvmlDeviceGetHandleByIndex_v2(index, &device)) ||
        !check("nvmlDeviceGetUUID", nvmlDeviceGetUUID(device, uuid, sizeof uuid)) ||
        !check("nvmlDeviceGetName", nvmlDeviceGetName(device, name, sizeof name))) {
        return false;
    }
    std::printf("GPU %u: uuid %s, name %s, ", index, uuid, name);
    print_memory(device);
    print_processes(index, device);
    return true;
}

}  // namespace

int main() {
    unsigned count = 0;
    if (!check("nvmlInit", nvmlInit_v2())) return 1;
    if (!check("nvmlDeviceGetCount", nvmlDeviceGetCount_v2(&count))) return 1;
    for (unsigned i = 0; i < count; i++) {
        if (!print_gpu(i)) return 1;
    }
    return 0;
}
