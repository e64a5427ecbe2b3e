// cuDevice*: properties of a GPU. No call here needs a context.
#include <cstdio>
#include <cstring>

#include "gpusim/cuda/driver/driver.hpp"

using gpusim::driver;
using gpusim::Gpu;
using gpusim::Session;

namespace {

struct Attribute {
    CUdevice_attribute name;
    int value;
};

// The same for every GPU: no test depends on them, and programs only need some value.
constexpr Attribute kAttributes[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 2147483647},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1590000},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32},
    {CU_DEVICE_ATTRIBUTE_INTEGRATED, 0},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 1024},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD, 0},
    {CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, CU_MEM_HANDLE_TYPE_NONE},
    {CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED, 1},
};

// The GPU of `device`, or null with the reason in `error`.
const Gpu* find_gpu(const Session& session, CUdevice device, CUresult* error) {
    *error = session.error();
    if (*error != CUDA_SUCCESS) return nullptr;
    if (!gpusim::is_device(device)) {
        *error = CUDA_ERROR_INVALID_DEVICE;
        return nullptr;
    }
    return &driver.state.file->gpus[driver.devices.gpus[device]];
}

int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c - 'A' + 10;
}

void format_bus_id(const Gpu& gpu, char (&text)[16]) {
    std::snprintf(text, sizeof text, "%04x:%02x:%02x.0", gpu.pci_domain & 0xffffU,
                  gpu.pci_bus & 0xffU, gpu.pci_device & 0xffU);
}

}  // namespace

CUresult cuDeviceGetCount(int* count) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = driver.devices.count;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!gpusim::is_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
    const Session session;
    CUresult error = CUDA_SUCCESS;
    const Gpu* gpu = find_gpu(session, device, &error);
    if (gpu == nullptr) return error;
    if (name == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
    std::snprintf(name, static_cast<std::size_t>(length), "%s", gpu->model);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
    const Session session;
    CUresult error = CUDA_SUCCESS;
    const Gpu* gpu = find_gpu(session, device, &error);
    if (gpu == nullptr) return error;
    if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const char* digit = gpu->uuid + std::strlen("GPU-");
    for (char& byte : uuid->bytes) {
        if (*digit == '-') digit++;
        byte = static_cast<char>(hex_value(digit[0]) * 16 + hex_value(digit[1]));
        digit += 2;
    }
    return CUDA_SUCCESS;
}

// The versions differ for MIG devices only.
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
    return cuDeviceGetUuid_v2(uuid, device);
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
    const Session session;
    CUresult error = CUDA_SUCCESS;
    const Gpu* gpu = find_gpu(session, device, &error);
    if (gpu == nullptr) return error;
    if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *bytes = gpusim::capacity_bytes(*gpu);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
    const Session session;
    CUresult error = CUDA_SUCCESS;
    const Gpu* gpu = find_gpu(session, device, &error);
    if (gpu == nullptr) return error;
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Attribute own[] = {
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
         static_cast<int>(gpusim::multiprocessors_of(driver.devices.gpus[device]))},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, static_cast<int>(gpu->compute_mode.load())},
        {CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, static_cast<int>(gpu->pci_domain)},
        {CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, static_cast<int>(gpu->pci_bus)},
        {CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, static_cast<int>(gpu->pci_device)},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, gpu->compute_major},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, gpu->compute_minor},
    };
    for (const Attribute& row : own) {
        if (row.name == attribute) return *value = row.value, CUDA_SUCCESS;
    }
    for (const Attribute& row : kAttributes) {
        if (row.name == attribute) return *value = row.value, CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
    const Session session;
    CUresult error = CUDA_SUCCESS;
    const Gpu* gpu = find_gpu(session, device, &error);
    if (gpu == nullptr) return error;
    if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *major = gpu->compute_major;
    *minor = gpu->compute_minor;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char* bus_id, int length, CUdevice device) {
    const Session session;
    CUresult error = CUDA_SUCCESS;
    const Gpu* gpu = find_gpu(session, device, &error);
    if (gpu == nullptr) return error;
    char text[16];
    format_bus_id(*gpu, text);
    if (bus_id == nullptr || length <= static_cast<int>(std::strlen(text))) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    std::memcpy(bus_id, text, std::strlen(text) + 1);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* bus_id) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (device == nullptr || bus_id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    unsigned domain = 0;
    unsigned bus = 0;
    unsigned slot = 0;
    if (std::sscanf(bus_id, "%x:%x:%x", &domain, &bus, &slot) != 3) return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < driver.devices.count; i++) {
        const Gpu& gpu = driver.state.file->gpus[driver.devices.gpus[i]];
        if (gpu.pci_domain != domain || gpu.pci_bus != bus || gpu.pci_device != slot) continue;
        *device = i;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_DEVICE;
}
