#include "gpusim/cuda/virtual_memory/physical_memory.hpp"

#include <fcntl.h>
#include <search.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "gpusim/cuda/driver/accounts.hpp"
#include "gpusim/cuda/driver/driver.hpp"
#include "gpusim/cuda/memory/address_book.hpp"
#include "gpusim/cuda/virtual_memory/virtual_memory.hpp"
#include "gpusim/state/shared.hpp"

using gpusim::driver;
using gpusim::kAllocationUnitBytes;
using gpusim::kNoGpu;
using gpusim::Physical;
using gpusim::Session;

namespace {

constinit void* handles = nullptr;  // tsearch tree of Physical by handle
constinit CUmemGenericAllocationHandle last_handle = 0;

// The content of memory that is not shared: one sparse file for all, because descriptors are
// scarce.
constinit int own_file = -1;
constinit Physical* in_own_file = nullptr;

int compare(const void* left, const void* right) {
    const auto a = static_cast<const Physical*>(left)->handle;
    const auto b = static_cast<const Physical*>(right)->handle;
    return a < b ? -1 : static_cast<int>(a > b);
}

// First fit; false if there is no memory.
bool place_in_own_file(Physical& physical) {
    if (own_file < 0) own_file = memfd_create("gpusim", MFD_CLOEXEC);
    if (own_file < 0) return false;
    Physical** link = &in_own_file;
    std::uint64_t offset = 0;
    for (; *link != nullptr; link = &(*link)->next) {
        if ((*link)->offset - offset >= physical.bytes) break;
        offset = (*link)->offset + (*link)->bytes;
    }
    const auto end = static_cast<off_t>(offset + physical.bytes);
    if (lseek(own_file, 0, SEEK_END) < end && ftruncate(own_file, end) != 0) return false;
    physical.offset = offset;
    physical.next = *link;
    *link = &physical;
    return true;
}

void leave_own_file(Physical& physical) {
    Physical** link = &in_own_file;
    while (*link != &physical)
        link = &(*link)->next;
    *link = physical.next;
    fallocate(own_file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              static_cast<off_t>(physical.offset), static_cast<off_t>(physical.bytes));
}

bool is_on_device(const CUmemAllocationProp& properties) {
    return properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
}

// A device has only one part, which is the whole device.
CUmemAllocationProp of_whole_device(CUmemAllocationProp properties) {
    CUmemLocation& location = properties.location;
    const bool is_part = location.type == CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN;
    if (is_part && (location.id >> 8 & 0xff) == 0)
        location = {CU_MEM_LOCATION_TYPE_DEVICE, location.id & 0xff};
    return properties;
}

// NUMA is not modelled: there is one node, 0.
CUresult check(const CUmemAllocationProp& properties) {
    if (properties.type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
    if (is_on_device(properties)) {
        if (!gpusim::is_device(properties.location.id)) return CUDA_ERROR_INVALID_DEVICE;
    } else if (properties.location.type != CU_MEM_LOCATION_TYPE_HOST_NUMA ||
               properties.location.id != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const unsigned types = properties.requestedHandleTypes;
    return (types & ~unsigned{CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR}) == 0
               ? CUDA_SUCCESS
               : CUDA_ERROR_NOT_SUPPORTED;
}

// Takes the memory that the properties describe.
CUresult acquire(Physical& physical) {
    const bool on_device = is_on_device(physical.properties);
    const int gpu = on_device ? driver.devices.gpus[physical.device] : -1;
    if (on_device) {
        if (gpusim::is_lost(gpu)) return CUDA_ERROR_UNKNOWN;
        const auto capacity = gpusim::capacity_bytes(driver.state.file->gpus[gpu]);
        if (physical.bytes > capacity) return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (physical.properties.requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE) {
        const CUresult error = gpusim::take_shared(
            on_device ? static_cast<std::uint32_t>(gpu) : kNoGpu, physical.bytes, &physical.entry);
        if (error != CUDA_SUCCESS) return error;
        physical.offset = driver.state.file->shared[physical.entry].offset.load();
        return CUDA_SUCCESS;
    }
    if (on_device) {
        const CUresult error = gpusim::take(gpu, physical.bytes);
        if (error != CUDA_SUCCESS) return error;
    }
    if (place_in_own_file(physical)) return CUDA_SUCCESS;
    if (on_device) gpusim::discharge(gpu, physical.bytes, 0);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

void give_back(Physical& physical) {
    if (physical.entry >= 0) return gpusim::drop_shared(physical.entry);
    leave_own_file(physical);
    if (physical.device < 0) return;
    gpusim::discharge(driver.devices.gpus[physical.device], physical.bytes, 0);
}

void destroy_if_unused(Physical* physical) {
    if (physical->handles > 0 || physical->mappings > 0) return;
    give_back(*physical);
    tdelete(physical, &handles, compare);
    std::free(physical);
}

Physical* new_physical(const CUmemAllocationProp& properties, std::size_t bytes) {
    auto* physical = static_cast<Physical*>(std::calloc(1, sizeof(Physical)));
    if (physical == nullptr) return nullptr;
    physical->properties = properties;
    physical->bytes = bytes;
    physical->device = is_on_device(properties) ? properties.location.id : -1;
    physical->entry = -1;
    return physical;
}

// False if there is no memory.
bool give_handle(Physical* physical) {
    physical->handle = ++last_handle;
    physical->handles = 1;
    return tsearch(physical, &handles, compare) != nullptr;
}

}  // namespace

namespace gpusim {

Physical* find_physical(CUmemGenericAllocationHandle handle) {
    Physical key = {};
    key.handle = handle;
    void* found = tfind(&key, &handles, compare);
    if (found == nullptr) return nullptr;
    auto* physical = *static_cast<Physical**>(found);
    return physical->handles > 0 ? physical : nullptr;
}

int content_of(const Physical& physical) {
    return physical.entry >= 0 ? driver.state.memory_fd : own_file;
}

void add_mapping(Physical& physical) {
    physical.mappings++;
}

void drop_mapping(Physical& physical) {
    physical.mappings--;
    destroy_if_unused(&physical);
}

}  // namespace gpusim

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* properties,
                                       CUmemAllocationGranularity_flags option) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (granularity == nullptr || option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUmemAllocationProp whole = of_whole_device(*properties);
    if (const CUresult error = check(whole); error != CUDA_SUCCESS) return error;
    *granularity = kAllocationUnitBytes;
    return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                     const CUmemAllocationProp* properties, unsigned long long flags) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (handle == nullptr || flags != 0 || bytes == 0 || bytes % kAllocationUnitBytes != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUmemAllocationProp whole = of_whole_device(*properties);
    if (const CUresult error = check(whole); error != CUDA_SUCCESS) return error;
    Physical* physical = new_physical(whole, bytes);
    if (physical == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    if (const CUresult error = acquire(*physical); error != CUDA_SUCCESS) {
        std::free(physical);
        return error;
    }
    if (!give_handle(physical)) {
        give_back(*physical);
        std::free(physical);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *handle = physical->handle;
    return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Physical* physical = gpusim::find_physical(handle);
    if (physical == nullptr) return CUDA_ERROR_INVALID_VALUE;
    physical->handles--;
    destroy_if_unused(physical);
    return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Physical* physical = gpusim::mapped_at(reinterpret_cast<CUdeviceptr>(address));
    if (physical == nullptr) return CUDA_ERROR_INVALID_VALUE;
    physical->handles++;
    *handle = physical->handle;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties,
                                                CUmemGenericAllocationHandle handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    const Physical* physical = gpusim::find_physical(handle);
    if (properties == nullptr || physical == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *properties = physical->properties;
    return CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    const Physical* physical = gpusim::find_physical(handle);
    if (shareable == nullptr || physical == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    if (physical->entry < 0) return CUDA_ERROR_INVALID_VALUE;  // it was not created for export
    const int fd = gpusim::export_shared(driver.state, physical->entry);
    if (fd < 0) return CUDA_ERROR_OPERATING_SYSTEM;
    *static_cast<int*>(shareable) = fd;
    return CUDA_SUCCESS;
}

// The descriptor still belongs to the caller.
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shareable,
                                        CUmemAllocationHandleType type) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    const auto fd = static_cast<int>(reinterpret_cast<std::intptr_t>(shareable));
    const auto [entry, serial] = gpusim::name_of_export(driver.state, fd);
    if (entry < 0) return CUDA_ERROR_INVALID_VALUE;
    const gpusim::SharedMemory& shared = driver.state.file->shared[entry];
    const std::uint32_t gpu = shared.gpu.load();
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    properties.location = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
    if (gpu != kNoGpu) {
        properties.location = {CU_MEM_LOCATION_TYPE_DEVICE,
                               gpusim::device_of(static_cast<int>(gpu))};
        if (properties.location.id < 0)
            return CUDA_ERROR_NOT_SUPPORTED;  // not a GPU of this process
    }
    Physical* physical = new_physical(properties, shared.bytes.load());
    if (physical == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    physical->entry = entry;
    physical->offset = shared.offset.load();
    if (!gpusim::hold_shared(entry, serial)) {
        std::free(physical);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!give_handle(physical)) {
        gpusim::drop_shared(entry);
        std::free(physical);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *handle = physical->handle;
    return CUDA_SUCCESS;
}
