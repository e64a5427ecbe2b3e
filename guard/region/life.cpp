#include "guard/region/life.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "guard/region/account.hpp"
#include "guard/region/mapping.hpp"
#include "guard/region/shared_memory.hpp"

namespace tessera::guard {
namespace {

struct flock lock_of(int slot, short type) {
    struct flock lock = {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = slot;
    lock.l_len = 1;
    return lock;
}

bool set_lock(int fd, int slot, short type) {
    struct flock lock = lock_of(slot, type);
    while (fcntl(fd, F_OFD_SETLK, &lock) != 0) {
        if (errno != EINTR) return false;
    }
    return true;
}

AllocationUnits clear_slot(Accounts& accounts, int slot) {
    AllocationUnits given = 0;
    if (may_have_shared(accounts, slot)) forget_shared_of(accounts, slot);
    for (int gpu = 0; gpu < kMaxGpus; gpu++)
        given += clear(accounts, gpu, slot);
    return given;
}

bool is_empty(const Accounts& accounts, int slot) {
    if (may_have_shared(accounts, slot)) return false;
    for (int gpu = 0; gpu < kMaxGpus; gpu++) {
        if (held_by(accounts, gpu, slot) != 0) return false;
    }
    return true;
}

// The last owner's work ended with it. Its total stays: the arbiter continues from there.
void end_time(Accounts& accounts, int gpu, int slot) {
    ProcessTime& time = accounts.times[slot][gpu];
    for (InFlight& kind : time.in_flight)
        kind.since_ns.store(0);
    time.waiting.store(0);
    time.seen_ns.store(0);
    for (auto& ends : accounts.expected_end_ns[gpu])
        ends[slot].store(0);
    for (auto& order : accounts.orders[gpu])
        order.asked_ns[slot].store(0);
}

// Locks and clears a slot whose owner is dead. -1: all owners are alive.
int take_slot(Accounts& accounts, int fd) {
    const auto first = accounts.next_slot.fetch_add(1) % unsigned{kMaxProcesses};
    for (unsigned tried = 0; tried < unsigned{kMaxProcesses}; tried++) {
        const int slot = static_cast<int>((first + tried) % unsigned{kMaxProcesses});
        if (slot == kOrphanSlot || !set_lock(fd, slot, F_WRLCK)) continue;
        // Count the slots that were tried, too: the arbiter reads all slots again that next_slot
        // has passed.
        accounts.next_slot.fetch_add(tried);
        clear_slot(accounts, slot);
        accounts.slots[slot].pid.store(getpid());
        for (int gpu = 0; gpu < kMaxGpus; gpu++)
            end_time(accounts, gpu, slot);
        std::uint32_t end = accounts.slots_end.load();
        const auto at_least = static_cast<std::uint32_t>(slot) + 1;
        while (end < at_least && !accounts.slots_end.compare_exchange_weak(end, at_least)) {
        }
        return slot;
    }
    return -1;
}

// The descriptor is closed in any case; after a success the mapping keeps the lock.
ProcessSlotError sit_down(const char* accounts_path, ProcessSlot& process_slot) {
    const Opened file(accounts_path, O_RDWR);
    if (file.fd() < 0) return ProcessSlotError::no_file;
    void* pages = map_whole(file.fd(), sizeof(Accounts), PROT_READ | PROT_WRITE);
    if (pages == nullptr)
        return errno == ENOMEM ? ProcessSlotError::no_room : ProcessSlotError::foreign_file;
    auto& accounts = *static_cast<Accounts*>(pages);
    ProcessSlotError error =
        is_of_this_layout(accounts) ? ProcessSlotError::none : ProcessSlotError::foreign_file;
    if (error == ProcessSlotError::none) {
        process_slot = {&accounts, take_slot(accounts, file.fd())};
        if (process_slot.slot < 0) error = ProcessSlotError::full;
        // The accounts may have been closed meanwhile (close_accounts).
        if (!is_of_this_layout(accounts)) error = ProcessSlotError::foreign_file;
    }
    if (error != ProcessSlotError::none) munmap(pages, sizeof(Accounts));
    return error;
}

// Whether the slot is locked although its descriptor is closed.
bool is_kept(const char* accounts_path, int slot) {
    const Opened file(accounts_path, O_RDONLY);
    return file.fd() >= 0 && is_alive(file.fd(), slot);
}

}  // namespace

bool is_alive(int fd, int slot) {
    struct flock lock = lock_of(slot, F_WRLCK);
    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool is_anyone_in(int fd) {
    struct flock lock = lock_of(0, F_WRLCK);
    lock.l_len = 0;  // to the end, wherever the layout of another release has its slots
    return fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

bool close_accounts(int fd) {
    struct flock all = lock_of(0, F_WRLCK);
    all.l_len = 0;
    while (fcntl(fd, F_OFD_SETLK, &all) != 0) {
        if (errno != EINTR) return false;
    }
    const AccountsHead closed = {0, 0};
    const bool is_closed = pwrite(fd, &closed, sizeof closed, 0) == ssize_t{sizeof closed};
    all.l_type = F_UNLCK;
    fcntl(fd, F_OFD_SETLK, &all);
    return is_closed;
}

ProcessSlotError register_process(const char* accounts_path, ProcessSlot& process_slot) {
    const ProcessSlotError error = sit_down(accounts_path, process_slot);
    if (error != ProcessSlotError::none || is_kept(accounts_path, process_slot.slot)) return error;
    munmap(process_slot.accounts, sizeof(Accounts));
    return ProcessSlotError::not_kept;
}

// A slot that can be locked has no owner, and cannot get one while it is locked.
AllocationUnits reap_dead(Accounts& accounts, int fd) {
    AllocationUnits given = 0;
    const int end = slots_end(accounts);
    for (int slot = 0; slot < end; slot++) {
        if (slot == kOrphanSlot || is_empty(accounts, slot) || !set_lock(fd, slot, F_WRLCK))
            continue;
        given += clear_slot(accounts, slot);
        set_lock(fd, slot, F_UNLCK);
    }
    give_closed_back(accounts);
    return given;
}

}  // namespace tessera::guard
