#include "guard/process/shared_memory.hpp"

#include <cstring>

#include "guard/base/locked.hpp"
#include "guard/inject/driver.hpp"
#include "guard/process/charges.hpp"
#include "guard/process/process.hpp"
#include "guard/region/descriptor_files.hpp"
#include "guard/region/shared_memory.hpp"

namespace tessera::guard {
namespace {

// Bits of a name: which container, the slot of the process that chose it, and a number. So no two
// processes choose the same name, and each has as many as the region has entries.
constexpr unsigned kOursBits = 13;
constexpr unsigned kSlotBits = 10;
constexpr unsigned kCountBits = 10;
constexpr unsigned kNumberBits = kSlotBits + kCountBits;
constexpr std::uint64_t kCountMask = (std::uint64_t{1} << kCountBits) - 1;
static_assert(kMaxProcesses <= 1 << kSlotBits && kMaxSharedMemory <= 1 << kCountBits);
static_assert(kOursBits + kNumberBits <= 33);
// For memory without a name on a descriptor, so that no two processes use the same key.
constexpr unsigned kSlotShift = 48;
constexpr std::uint64_t kOfHandle = std::uint64_t{1} << 63;  // not a descriptor's name

// Source of the constants: FNV-1a.
std::uint64_t hash_of(const char* bytes, std::size_t count) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (std::size_t i = 0; i < count; i++)
        hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 0x100000001b3U;
    return hash;
}

std::uint64_t ours() {
    const std::uint64_t file = region_number();
    char bytes[sizeof file];
    std::memcpy(bytes, &file, sizeof file);
    return hash_of(bytes, sizeof bytes) >> (64 - kOursBits);
}

// The caller of the functions below must hold the mutex.

int join_locked(SharedUse& here, std::uint64_t key) {
    const ProcessSlot& mine = process_slot();
    const int index = find_shared(*mine.accounts, key);
    if (index < 0) return -1;
    if (here.imports[index] == 0 && !join_shared(*mine.accounts, index, key, mine.slot)) return -1;
    here.imports[index]++;
    return index;
}

// For an entry that this process has just made.
void join_own(SharedUse& here, int index, std::uint64_t key) {
    const ProcessSlot& mine = process_slot();
    if (join_shared(*mine.accounts, index, key, mine.slot)) here.imports[index]++;
}

void leave_locked(SharedUse& here, int index) {
    const ProcessSlot& mine = process_slot();
    if (--here.imports[index] != 0) return;
    leave_shared(*mine.accounts, index, mine.slot);
    give_closed_back(*mine.accounts, index);
}

void leave_all_of(SharedUse& here, const OpenedAddress& gone) {
    for (unsigned i = 0; i < gone.opened; i++)
        leave_locked(here, gone.index);
}

// False if the address is not recorded, or is recorded for other memory or another context.
bool count_again(SharedUse& here, const OpenedAddress& use) {
    OpenedAddress* noted = here.opened.find(use.address);
    if (noted == nullptr || noted->index != use.index || noted->context != use.context)
        return false;
    noted->opened++;
    return true;
}

// Uses a name that no shared memory of the container has, and no file that is still open.
int share_as_new(SharedUse& here, int fd, int gpu, AllocationUnits units) {
    const ProcessSlot& mine = process_slot();
    const int file = file_of(*mine.accounts, fd);
    const int tries = file != 0 ? 1 << kCountBits : 0;
    const std::uint64_t of_slot = ours() << kNumberBits | static_cast<std::uint64_t>(mine.slot)
                                                              << kCountBits;
    for (int tried = 0; tried < tries; tried++) {
        const std::uint64_t key = of_slot | (++here.last_name & kCountMask);
        if (key == 0 || find_shared(*mine.accounts, key) >= 0) continue;
        if (set_new_name(fd, {key, units})) return add_or_reap({key, gpu, units, file});
    }
    // It cannot be found out which processes have it, or for how long: so its maker has it until it
    // ends.
    const std::uint64_t key =
        kOfHandle | static_cast<std::uint64_t>(mine.slot) << kSlotShift | ++here.last_name;
    const int index = add_or_reap({key, gpu, units});
    if (index >= 0) join_own(here, index, key);
    return index;
}

}  // namespace

std::uint64_t key_of(const CUipcMemHandle& handle) {
    return hash_of(handle.reserved, sizeof handle.reserved) | kOfHandle;
}

bool note_exported(CUdeviceptr pointer, std::uint64_t key) {
    CUdeviceptr base = pointer;  // a handle is for the whole allocation
    const auto& ask = driver()->cuMemGetAddressRange_v2;
    if (ask) ask(&base, nullptr, pointer);
    return share_recorded(base, key);
}

int begin_import(std::uint64_t key) {
    SharedUse& here = shared_use();
    const Locked lock(here.mutex);
    return join_locked(here, key);
}

void end_import(int index) {
    SharedUse& here = shared_use();
    const Locked lock(here.mutex);
    leave_locked(here, index);
}

bool was_exported(std::uint64_t key) {
    return was_shared(*process_slot().accounts, key);
}

// The driver returns the same address each time a context opens the handle. A record of other
// memory or of another context is stale: that memory ended with its context without a call that we
// saw.
void note_opened(CUdeviceptr pointer, CUcontext context, int index) {
    SharedUse& here = shared_use();
    const Locked lock(here.mutex);
    here.has_opened.store(true, std::memory_order_relaxed);
    if (count_again(here, {pointer, context, index, 1})) return;
    leave_all_of(here, here.opened.take(pointer));
    here.opened.add(
        {pointer, context, index, 1});  // if this fails, it is charged until the process ends
}

OpenedAddress take_opened(CUdeviceptr pointer) {
    SharedUse& here = shared_use();
    if (!here.has_opened.load(std::memory_order_relaxed)) return {};
    const Locked lock(here.mutex);
    OpenedAddress* opened = here.opened.find(pointer);
    if (opened == nullptr) return {};
    const OpenedAddress taken = {pointer, opened->context, opened->index, 1};
    if (--opened->opened == 0) here.opened.take(pointer);
    return taken;
}

// If there is a record at that address now, it is newer.
void put_opened_back(const OpenedAddress& taken) {
    SharedUse& here = shared_use();
    const Locked lock(here.mutex);
    if (count_again(here, taken)) return;
    if (here.opened.find(taken.address) != nullptr) return leave_all_of(here, taken);
    here.opened.add(taken);
}

void forget_opened_in(CUcontext context) {
    SharedUse& here = shared_use();
    if (!here.has_opened.load(std::memory_order_relaxed)) return;
    const Locked lock(here.mutex);
    std::uint64_t place = 0;
    for (;;) {
        const OpenedAddress gone = here.opened.take_next(
            place, [context](const OpenedAddress& each) { return each.context == context; });
        if (gone.address == 0) return;
        leave_all_of(here, gone);
    }
}

void pass_on_opened_in(CUcontext from, CUcontext to) {
    SharedUse& here = shared_use();
    if (!here.has_opened.load(std::memory_order_relaxed)) return;
    const Locked lock(here.mutex);
    here.opened.for_each([from, to](OpenedAddress& each) {
        if (each.context == from) each.context = to;
    });
}

int share_descriptor(int fd, int gpu, AllocationUnits units) {
    SharedUse& here = shared_use();
    const Locked lock(here.mutex);
    return share_as_new(here, fd, gpu, units);
}

void name_again(int fd, int index, AllocationUnits units) {
    SharedUse& here = shared_use();
    const Locked lock(here.mutex);
    Accounts& accounts = *process_slot().accounts;
    const std::uint64_t key = accounts.shared_memory[index].key.load();
    const int file = accounts.shared_memory[index].file.load();
    if (is_of_file(accounts, file, fd) && set_name(fd, {key, units}))
        return share_again(accounts, index);
    // As if it could not be named: this process has it until it ends.
    if ((key & kOfHandle) == 0) join_locked(here, key);
}

void end_export(int index) {
    Accounts& accounts = *process_slot().accounts;
    end_shared(accounts, index);
    give_closed_back(accounts, index);
}

int adopt(const DescriptorName& name, int gpu, int fd) {
    SharedUse& here = shared_use();
    const Locked lock(here.mutex);
    // Another importer may have been faster, and is charged for it.
    if (const int index = join_locked(here, name.key); index >= 0) {
        give_units(gpu, name.units);
        return index;
    }
    const ProcessSlot& mine = process_slot();
    const int file = fd >= 0 ? file_of(*mine.accounts, fd) : 0;
    const int index = add_or_reap({name.key, gpu, name.units, file});
    if (index < 0) return -1;
    join_own(here, index, name.key);
    end_shared(*mine.accounts, index);
    return index;
}

bool is_ours(const DescriptorName& name) {
    return name.key != 0 && name.key >> kNumberBits == ours();
}

}  // namespace tessera::guard
