#include "guard/process/physical.hpp"

#include "guard/process/process.hpp"

namespace tessera::guard {

void PhysicalMemory::put_back_if_unused(const Physical& physical) {
    if (physical.handles > 0 || physical.mappings > 0) return;
    const Physical gone = all_.take(physical.handle);
    put_back(gone.card, gone.bytes);
}

// What has the handle already was unmapped for the last time by another thread, which has not come
// to say so: by the serial it will see that this is another.
bool PhysicalMemory::note(PhysicalHandle handle, int card, std::uint64_t bytes) {
    const Locked lock(mutex_);
    const Physical before = all_.take(handle);
    if (before.handle != 0) put_back(before.card, before.bytes);
    return all_.add({handle, ++last_serial_, bytes, card, 1, 0});
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
