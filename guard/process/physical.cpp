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
    if (!gone.is_shared) return put_back(gone.card, gone.bytes);
    if (gone.is_imported) return end_import(gone.index);
    end_export(gone.index);
}

// The card of the memory, and room for it. -1 where it is the host's.
CUresult take_adopted(PhysicalHandle handle, Granules granules, int& card) {
    card = -1;
    CUmemAllocationProp properties = {};
    const auto& ask = driver()->cuMemGetAllocationPropertiesFromHandle;
    if (!ask || ask(&properties, handle) != CUDA_SUCCESS) return CUDA_SUCCESS;
    const int found = card_at(place_of(properties.location));
    if (found == kNoCard) return CUDA_SUCCESS;
    if (found < 0) return kNotGuarded;
    card = found;
    return take_for_adoption(card, granules);
}

}  // namespace

void PhysicalMemory::put_back_if_unused(const Physical& physical) {
    if (physical.handles > 0 || physical.mappings > 0) return;
    let_go(all_.take(physical.handle));
}

bool PhysicalMemory::note_shared(PhysicalHandle handle, int fd) {
    Physical* physical = all_.find(handle);
    if (physical == nullptr) return true;  // the host's, or another's
    const Granules granules = granules_of(physical->bytes);
    if (physical->is_shared) {
        name_again(fd, physical->index, granules);
        return true;
    }
    physical->index = share_descriptor(fd, physical->card, granules);
    physical->is_shared = physical->index >= 0;
    return physical->is_shared;
}

CUresult PhysicalMemory::undo_share(int fd) {
    const Uncancelled uncancelled;
    close(fd);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

// Where its maker let go of it on the way, or died, nobody is charged for it any more: then we are.
CUresult PhysicalMemory::note_imported(PhysicalHandle handle, int fd, const DescriptorName& name,
                                       int index) {
    Physical* known = all_.find(handle);
    if (known != nullptr) {
        known->handles++;
        if (index >= 0) end_import(index);
        return CUDA_SUCCESS;
    }
    if (!is_ours(name)) return CUDA_SUCCESS;
    int card = -1;
    if (index < 0) {
        const CUresult over = take_adopted(handle, name.granules, card);
        if (over == CUDA_SUCCESS && card < 0) return CUDA_SUCCESS;
        if (over == CUDA_SUCCESS) index = adopt(name, card, fd);
        if (index < 0) {
            if (card >= 0 && over == CUDA_SUCCESS) give_granules(card, name.granules);
            driver()->cuMemRelease(handle);
            return over != CUDA_SUCCESS ? over : CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    const std::uint64_t bytes = name.granules * kGranuleBytes;
    if (all_.add({handle, ++last_serial_, bytes, card, 1, 0, true, true, index}))
        return CUDA_SUCCESS;
    end_import(index);
    driver()->cuMemRelease(handle);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

// What has the handle already was unmapped for the last time by another thread, which has not come
// to say so: by the serial it will see that this is another.
bool PhysicalMemory::note(PhysicalHandle handle, int card, std::uint64_t bytes) {
    const Locked lock(mutex_);
    const Physical before = all_.take(handle);
    if (before.handle != 0) let_go(before);
    return all_.add({handle, ++last_serial_, bytes, card, 1, 0, false, false, 0});
}

void PhysicalMemory::add_handle(PhysicalHandle handle) {
    Physical* physical = all_.find(handle);
    if (physical != nullptr) physical->handles++;
}

void PhysicalMemory::drop_handle(PhysicalHandle handle) {
    Physical* physical = all_.find(handle);
    if (physical == nullptr || physical->handles == 0) return;
    physical->handles--;
    put_back_if_unused(*physical);
}

bool PhysicalMemory::add_mapping(Mapping mapping) {
    Physical* physical = all_.find(mapping.handle);
    if (physical == nullptr) return true;  // another's
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
        address += mapping.address != 0 ? mapping.bytes : kGranuleBytes;
        Physical* physical = all_.find(mapping.handle);
        if (physical == nullptr || physical->serial != mapping.serial) continue;
        physical->mappings--;
        put_back_if_unused(*physical);
    }
}

}  // namespace tessera::guard
