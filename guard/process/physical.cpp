#include "guard/process/physical.hpp"

#include <unistd.h>

#include "guard/process/charges.hpp"
#include "guard/process/location.hpp"
#include "guard/process/process.hpp"
#include "guard/region/shared_memory.hpp"
#include "guard/region/uncancelled.hpp"

namespace tessera::guard {
namespace {

void let_go(const Physical& gone) {
    if (!gone.is_shared) return release(gone.gpu, gone.bytes);
    if (gone.is_imported) return end_import(gone.index);
    end_export(gone.index);
}

// Finds the GPU of the memory and reserves memory on it. GPU -1 for host memory.
CUresult take_adopted(PhysicalHandle handle, AllocationUnits units, int& gpu) {
    gpu = -1;
    CUmemAllocationProp properties = {};
    const auto& ask = driver()->cuMemGetAllocationPropertiesFromHandle;
    if (!ask || ask(&properties, handle) != CUDA_SUCCESS) return CUDA_SUCCESS;
    const int found = gpu_at(place_of(properties.location));
    if (found == kNoGpu) return CUDA_SUCCESS;
    if (found < 0) return kNotGuarded;
    gpu = found;
    return take_for_adoption(gpu, units);
}

}  // namespace

void PhysicalMemory::release_if_unused(const Physical& physical) {
    if (physical.handles > 0 || physical.mappings > 0) return;
    let_go(all_.take(physical.handle));
}

bool PhysicalMemory::note_shared(PhysicalHandle handle, int fd) {
    Physical* physical = all_.find(handle);
    if (physical == nullptr) return true;  // host memory, or imported from another container
    const AllocationUnits units = units_of(physical->bytes);
    if (physical->is_shared) {
        name_again(fd, physical->index, units);
        return true;
    }
    physical->index = share_descriptor(fd, physical->gpu, units);
    physical->is_shared = physical->index >= 0;
    return physical->is_shared;
}

CUresult PhysicalMemory::undo_share(int fd) {
    const Uncancelled uncancelled;
    close(fd);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

// If its maker released it meanwhile or died, no process is charged for it any more. Then this one
// is.
CUresult PhysicalMemory::note_imported(PhysicalHandle handle, int fd, const DescriptorName& name,
                                       int index) {
    Physical* known = all_.find(handle);
    if (known != nullptr) {
        known->handles++;
        if (index >= 0) end_import(index);
        return CUDA_SUCCESS;
    }
    if (!is_ours(name)) return CUDA_SUCCESS;
    int gpu = -1;
    if (index < 0) {
        const CUresult over = take_adopted(handle, name.units, gpu);
        if (over == CUDA_SUCCESS && gpu < 0) return CUDA_SUCCESS;
        if (over == CUDA_SUCCESS) index = adopt(name, gpu, fd);
        if (index < 0) {
            if (gpu >= 0 && over == CUDA_SUCCESS) give_units(gpu, name.units);
            driver()->cuMemRelease(handle);
            return over != CUDA_SUCCESS ? over : CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    const std::uint64_t bytes = name.units * kAllocationUnitBytes;
    if (all_.add({handle, ++last_serial_, bytes, gpu, 1, 0, true, true, index}))
        return CUDA_SUCCESS;
    end_import(index);
    driver()->cuMemRelease(handle);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

// A record that the handle already has belongs to memory that another thread has unmapped for the
// last time. That thread has not reported it yet. It will see by the serial that this is other
// memory.
bool PhysicalMemory::record(PhysicalHandle handle, int gpu, std::uint64_t bytes) {
    const Locked lock(mutex_);
    const Physical before = all_.take(handle);
    if (before.handle != 0) let_go(before);
    return all_.add({handle, ++last_serial_, bytes, gpu, 1, 0, false, false, 0});
}

void PhysicalMemory::add_handle(PhysicalHandle handle) {
    Physical* physical = all_.find(handle);
    if (physical != nullptr) physical->handles++;
}

void PhysicalMemory::drop_handle(PhysicalHandle handle) {
    Physical* physical = all_.find(handle);
    if (physical == nullptr || physical->handles == 0) return;
    physical->handles--;
    release_if_unused(*physical);
}

bool PhysicalMemory::add_mapping(Mapping mapping) {
    Physical* physical = all_.find(mapping.handle);
    if (physical == nullptr) return true;  // not recorded by this process
    mapping.serial = physical->serial;
    if (!mappings_.add(mapping)) return false;
    physical->mappings++;
    return true;
}

void PhysicalMemory::note_unmapped(std::uint64_t address, std::uint64_t bytes) {
    const Locked lock(mutex_);
    const std::uint64_t end = address + bytes;
    while (address < end) {
        const Mapping mapping = mappings_.take(address);
        address += mapping.address != 0 ? mapping.bytes : kAllocationUnitBytes;
        Physical* physical = all_.find(mapping.handle);
        if (physical == nullptr || physical->serial != mapping.serial) continue;
        physical->mappings--;
        release_if_unused(*physical);
    }
}

}  // namespace tessera::guard
