// nvmlDeviceGet*: handles, and properties of a GPU.
#include <cstdio>
#include <cstring>

#include "gpusim/nvml/session.hpp"

using gpusim::Gpu;
using gpusim::nvml;

namespace {

// Sets `device` to the first visible GPU that `matches`; NVML_ERROR_NOT_FOUND when none does.
template <class Matches>
nvmlReturn_t find_handle(nvmlDevice_t* device, Matches matches) {
    if (const nvmlReturn_t error = gpusim::ready(); error != NVML_SUCCESS) return error;
    if (device == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    for (int i = 0; i < nvml.present.count; i++) {
        const int gpu = nvml.present.gpus[i];
        const Gpu& candidate = nvml.state.file->gpus[gpu];
        if (!matches(candidate)) continue;
        if (const nvmlReturn_t error = gpusim::gpu_error(candidate); error != NVML_SUCCESS) {
            return error;
        }
        *device = &nvml.devices[gpu];
        return NVML_SUCCESS;
    }
    return NVML_ERROR_NOT_FOUND;
}

constexpr unsigned kPciDeviceId = 0x1EB810DE;  // a T4, whatever the model says
constexpr unsigned kPciSubSystemId = 0x12A210DE;

template <std::size_t Size>
void format_bus_id(const Gpu& gpu, int domain_digits, char (&text)[Size]) {
    std::snprintf(text, Size, "%0*X:%02X:%02X.0", domain_digits, gpu.pci_domain,
                  gpu.pci_bus & 0xffU, gpu.pci_device & 0xffU);
}

nvmlReturn_t find_pair(nvmlDevice_t device1, nvmlDevice_t device2, const Gpu*& first,
                       const Gpu*& second) {
    const nvmlReturn_t error = gpusim::find_gpu(device1, &first);
    return error != NVML_SUCCESS ? error : gpusim::find_gpu(device2, &second);
}

bool hides_topology(const Gpu& gpu) {
    return gpusim::hides(gpu, gpusim::kHidesTopology);
}

bool is_same(std::uint32_t a, std::uint32_t b) {
    return a == b && a != gpusim::kNone;
}

nvmlReturn_t not_supported(nvmlDevice_t device) {
    const Gpu* gpu = nullptr;
    const nvmlReturn_t error = gpusim::find_gpu(device, &gpu);
    return error != NVML_SUCCESS ? error : NVML_ERROR_NOT_SUPPORTED;
}

}  // namespace

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int* count) {
    if (const nvmlReturn_t error = gpusim::ready(); error != NVML_SUCCESS) return error;
    if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *count = static_cast<unsigned>(nvml.present.count);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCount(unsigned int* count) {
    return nvmlDeviceGetCount_v2(count);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t* device) {
    if (const nvmlReturn_t error = gpusim::ready(); error != NVML_SUCCESS) return error;
    if (index >= static_cast<unsigned>(nvml.present.count)) return NVML_ERROR_INVALID_ARGUMENT;
    const Gpu* wanted = &nvml.state.file->gpus[nvml.present.gpus[index]];
    return find_handle(device, [&](const Gpu& gpu) { return &gpu == wanted; });
}

nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t* device) {
    return nvmlDeviceGetHandleByIndex_v2(index, device);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
    if (uuid == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    return find_handle(device, [&](const Gpu& gpu) { return std::strcmp(gpu.uuid, uuid) == 0; });
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, nvmlDevice_t* device) {
    unsigned domain = 0;
    unsigned bus = 0;
    unsigned slot = 0;
    if (bus_id == nullptr || std::sscanf(bus_id, "%x:%x:%x", &domain, &bus, &slot) != 3) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    return find_handle(device, [&](const Gpu& gpu) {
        return gpu.pci_domain == domain && gpu.pci_bus == bus && gpu.pci_device == slot;
    });
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char* bus_id, nvmlDevice_t* device) {
    return nvmlDeviceGetHandleByPciBusId_v2(bus_id, device);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned int length) {
    const Gpu* gpu = nullptr;
    const nvmlReturn_t error = gpusim::find_gpu(device, &gpu);
    return error != NVML_SUCCESS ? error : gpusim::copy_text(gpu->uuid, uuid, length);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned int length) {
    const Gpu* gpu = nullptr;
    if (const nvmlReturn_t error = gpusim::find_gpu(device, &gpu); error != NVML_SUCCESS) {
        return error;
    }
    if (gpusim::hides(*gpu, gpusim::kHidesName)) return NVML_ERROR_NOT_SUPPORTED;
    return gpusim::copy_text(gpu->model, name, length);
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int* index) {
    const Gpu* gpu = nullptr;
    if (const nvmlReturn_t error = gpusim::find_gpu(device, &gpu); error != NVML_SUCCESS) {
        return error;
    }
    if (index == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *index = device->index;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int* minor_number) {
    const Gpu* gpu = nullptr;
    if (const nvmlReturn_t error = gpusim::find_gpu(device, &gpu); error != NVML_SUCCESS) {
        return error;
    }
    if (minor_number == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (gpusim::hides(*gpu, gpusim::kHidesMinor)) return NVML_ERROR_NOT_SUPPORTED;
    *minor_number = gpu->minor;
    return NVML_SUCCESS;
}

namespace {

// What the versions of the struct have in common.
template <class Pci>
nvmlReturn_t fill_pci(nvmlDevice_t device, Pci* pci, const Gpu*& gpu) {
    if (const nvmlReturn_t error = gpusim::find_gpu(device, &gpu); error != NVML_SUCCESS) {
        return error;
    }
    if (pci == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *pci = {};
    pci->domain = gpu->pci_domain;
    pci->bus = gpu->pci_bus;
    pci->device = gpu->pci_device;
    pci->pciDeviceId = kPciDeviceId;
    pci->pciSubSystemId = kPciSubSystemId;
    return NVML_SUCCESS;
}

}  // namespace

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* pci) {
    const Gpu* gpu = nullptr;
    if (const nvmlReturn_t error = fill_pci(device, pci, gpu); error != NVML_SUCCESS) return error;
    format_bus_id(*gpu, 4, pci->busIdLegacy);
    format_bus_id(*gpu, 8, pci->busId);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_v2_t* pci) {
    const Gpu* gpu = nullptr;
    if (const nvmlReturn_t error = fill_pci(device, pci, gpu); error != NVML_SUCCESS) return error;
    format_bus_id(*gpu, 4, pci->busId);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_v2_t* pci) {
    return nvmlDeviceGetPciInfo_v2(device, pci);
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* major, int* minor) {
    const Gpu* gpu = nullptr;
    if (const nvmlReturn_t error = gpusim::find_gpu(device, &gpu); error != NVML_SUCCESS) {
        return error;
    }
    if (major == nullptr || minor == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *major = gpu->compute_major;
    *minor = gpu->compute_minor;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNumGpuCores(nvmlDevice_t device, unsigned int* cores) {
    const Gpu* gpu = nullptr;
    if (const nvmlReturn_t error = gpusim::find_gpu(device, &gpu); error != NVML_SUCCESS) {
        return error;
    }
    if (cores == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    // CUDA programming guide, "Compute Capabilities": 64 up to 8.0, and 128 from 8.6 on.
    const bool has_64 = gpu->compute_major * 10 + gpu->compute_minor <= 80;
    *cores = gpu->multiprocessors * (has_64 ? 64 : 128);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t* mode) {
    const Gpu* gpu = nullptr;
    if (const nvmlReturn_t error = gpusim::find_gpu(device, &gpu); error != NVML_SUCCESS) {
        return error;
    }
    if (mode == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *mode = NVML_FEATURE_ENABLED;
    return NVML_SUCCESS;
}

// A NUMA node has one PCIe root. Switches are attached to it directly, and GPUs to either.
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t device1, nvmlDevice_t device2,
                                                 nvmlGpuTopologyLevel_t* level) {
    const Gpu* first = nullptr;
    const Gpu* second = nullptr;
    if (const nvmlReturn_t error = find_pair(device1, device2, first, second);
        error != NVML_SUCCESS) {
        return error;
    }
    if (level == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (hides_topology(*first) || hides_topology(*second)) return NVML_ERROR_NOT_SUPPORTED;
    if (first == second) {
        *level = NVML_TOPOLOGY_INTERNAL;
    } else if (is_same(first->pcie_switch, second->pcie_switch)) {
        *level = NVML_TOPOLOGY_SINGLE;
    } else {
        *level = first->numa == second->numa ? NVML_TOPOLOGY_NODE : NVML_TOPOLOGY_SYSTEM;
    }
    return NVML_SUCCESS;
}

// GPUs reach each other wherever they are; by NVLink only if they are linked.
nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t device1, nvmlDevice_t device2,
                                    nvmlGpuP2PCapsIndex_t caps, nvmlGpuP2PStatus_t* status) {
    const Gpu* first = nullptr;
    const Gpu* second = nullptr;
    if (const nvmlReturn_t error = find_pair(device1, device2, first, second);
        error != NVML_SUCCESS) {
        return error;
    }
    if (status == nullptr || first == second || caps < 0 || caps > NVML_P2P_CAPS_INDEX_PCI)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (hides_topology(*first) || hides_topology(*second)) return NVML_ERROR_NOT_SUPPORTED;
    const bool is_by_link = caps == NVML_P2P_CAPS_INDEX_NVLINK;
    const bool is_ok = !is_by_link || is_same(first->nvlink, second->nvlink);
    *status = is_ok ? NVML_P2P_STATUS_OK : NVML_P2P_STATUS_NOT_SUPPORTED;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int* current,
                                  unsigned int* pending) {
    const Gpu* gpu = nullptr;
    if (const nvmlReturn_t error = gpusim::find_gpu(device, &gpu); error != NVML_SUCCESS) {
        return error;
    }
    constexpr int kAmpere = 8;
    const unsigned mode = gpu->mig_mode.load();
    if (mode == 0 && gpu->compute_major < kAmpere) return NVML_ERROR_NOT_SUPPORTED;
    if (current == nullptr || pending == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *current = mode;
    *pending = mode;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, nvmlComputeMode_t* mode) {
    const Gpu* gpu = nullptr;
    if (const nvmlReturn_t error = gpusim::find_gpu(device, &gpu); error != NVML_SUCCESS) {
        return error;
    }
    if (mode == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *mode = static_cast<nvmlComputeMode_t>(gpu->compute_mode.load());
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceSetComputeMode(nvmlDevice_t device, nvmlComputeMode_t mode) {
    const Gpu* gpu = nullptr;
    if (const nvmlReturn_t error = gpusim::find_gpu(device, &gpu); error != NVML_SUCCESS) {
        return error;
    }
    // The driver takes the first two as one since CUDA 8.
    if (mode > NVML_COMPUTEMODE_EXCLUSIVE_PROCESS) return NVML_ERROR_INVALID_ARGUMENT;
    if (geteuid() != 0) return NVML_ERROR_NO_PERMISSION;
    const auto set = [](Gpu& of, unsigned value) { of.compute_mode.store(value); };
    const int index = static_cast<int>(gpu - nvml.state.file->gpus);
    const gpusim::OpenResult changed = gpusim::change_gpu(nvml.state, index, set, mode);
    return changed == gpusim::OpenResult::ok ? NVML_SUCCESS : NVML_ERROR_NO_PERMISSION;
}

nvmlReturn_t nvmlDeviceGetMemoryAffinity(nvmlDevice_t device, unsigned int set_size,
                                         unsigned long* set, nvmlAffinityScope_t scope) {
    const Gpu* gpu = nullptr;
    if (const nvmlReturn_t error = gpusim::find_gpu(device, &gpu); error != NVML_SUCCESS) {
        return error;
    }
    if (set_size == 0 || set == nullptr || scope > NVML_AFFINITY_SCOPE_SOCKET)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (hides_topology(*gpu)) return NVML_ERROR_NOT_SUPPORTED;
    std::memset(set, 0, set_size * sizeof *set);
    set[0] = 1UL << gpu->numa;
    return NVML_SUCCESS;
}

// Only GPUs whose memory is a NUMA node of its own support this.
nvmlReturn_t nvmlDeviceGetNumaNodeId(nvmlDevice_t device, unsigned int*) {
    return not_supported(device);
}
