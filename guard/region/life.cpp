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

Granules clear_slot(Accounts& accounts, int slot) {
    Granules given = 0;
    if (may_have_shared(accounts, slot)) forget_shared_of(accounts, slot);
    for (int card = 0; card < kMaxCards; card++)
        given += clear(accounts, card, slot);
    return given;
}

bool is_empty(const Accounts& accounts, int slot) {
    if (may_have_shared(accounts, slot)) return false;
    for (int card = 0; card < kMaxCards; card++) {
        if (held_by(accounts, card, slot) != 0) return false;
    }
    return true;
}

// The last owner's work ended with it. What it had in all stays: the arbiter counts from there.
void end_time(Accounts& accounts, int card, int slot) {
    ProcessTime& time = accounts.times[slot][card];
    for (InFlight& kind : time.in_flight)
        kind.since_ns.store(0);
    time.waiting.store(0);
    time.seen_ns.store(0);
    for (auto& ends : accounts.expected_end_ns[card])
        ends[slot].store(0);
    for (auto& order : accounts.orders[card])
        order.asked_ns[slot].store(0);
}

// Locks and clears a slot whose owner is gone. -1: all live.
int take_slot(Accounts& accounts, int fd) {
    const auto first = accounts.next_slot.fetch_add(1) % unsigned{kMaxProcesses};
    for (unsigned tried = 0; tried < unsigned{kMaxProcesses}; tried++) {
        const int slot = static_cast<int>((first + tried) % unsigned{kMaxProcesses});
        if (slot == kNobody || !set_lock(fd, slot, F_WRLCK)) continue;
        // The arbiter looks at those that were passed.
        accounts.next_slot.fetch_add(tried);
        clear_slot(accounts, slot);
        accounts.slots[slot].pid.store(getpid());
        for (int card = 0; card < kMaxCards; card++)
            end_time(accounts, card, slot);
        std::uint32_t end = accounts.slots_end.load();
        const auto at_least = static_cast<std::uint32_t>(slot) + 1;
        while (end < at_least && !accounts.slots_end.compare_exchange_weak(end, at_least)) {
        }
        return slot;
    }
    return -1;
}

// The descriptor is closed in any case; where all went well the mapping holds the lock.
SeatError sit_down(const char* accounts_path, Seat& seat) {
    const Opened file(accounts_path, O_RDWR);
    if (file.fd() < 0) return SeatError::no_file;
    void* pages = map_whole(file.fd(), sizeof(Accounts), PROT_READ | PROT_WRITE);
    if (pages == nullptr) return errno == ENOMEM ? SeatError::no_room : SeatError::foreign_file;
    auto& accounts = *static_cast<Accounts*>(pages);
    SeatError error = is_of_this_layout(accounts) ? SeatError::none : SeatError::foreign_file;
    if (error == SeatError::none) {
        seat = {&accounts, take_slot(accounts, file.fd())};
        if (seat.slot < 0) error = SeatError::full;
    }
    if (error != SeatError::none) munmap(pages, sizeof(Accounts));
    return error;
}

// That the slot is locked although its descriptor is closed.
bool is_kept(const char* accounts_path, int slot) {
    const Opened file(accounts_path, O_RDONLY);
    return file.fd() >= 0 && is_lived_in(file.fd(), slot);
}

}  // namespace

bool is_lived_in(int fd, int slot) {
    struct flock lock = lock_of(slot, F_WRLCK);
    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool is_anyone_in(int fd) {
    struct flock lock = lock_of(0, F_WRLCK);
    lock.l_len = 0;  // to the end, wherever the layout of another release has its slots
    return fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

SeatError take_seat(const char* accounts_path, Seat& seat) {
    const SeatError error = sit_down(accounts_path, seat);
    if (error != SeatError::none || is_kept(accounts_path, seat.slot)) return error;
    munmap(seat.accounts, sizeof(Accounts));
    return SeatError::not_kept;
}

// A slot that can be locked has no owner, and gets none while it is locked.
Granules reap_dead(Accounts& accounts, int fd) {
    Granules given = 0;
    const int end = slots_end(accounts);
    for (int slot = 0; slot < end; slot++) {
        if (slot == kNobody || is_empty(accounts, slot) || !set_lock(fd, slot, F_WRLCK)) continue;
        given += clear_slot(accounts, slot);
        set_lock(fd, slot, F_UNLCK);
    }
    give_closed_back(accounts);
    return given;
}

}  // namespace tessera::guard
