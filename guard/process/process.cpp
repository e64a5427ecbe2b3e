#include "guard/process/process.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "guard/compute/timing.hpp"
#include "guard/inject/driver.hpp"
#include "guard/process/context_limits.hpp"
#include "guard/process/graphs.hpp"
#include "guard/process/leavers.hpp"
#include "guard/process/locked.hpp"
#include "guard/process/physical.hpp"
#include "guard/process/place.hpp"
#include "guard/process/pools.hpp"
#include "guard/process/shared_memory.hpp"
#include "guard/region/account.hpp"
#include "guard/region/limits.hpp"
#include "guard/region/shared_memory.hpp"

namespace tessera::guard {
namespace {

// All zero at first, and again in a forked child.
struct Process {
    std::atomic<bool> has_begun;
    std::atomic<bool> has_complained;
    pthread_mutex_t mutex;  // zero is unlocked
    Seat seat;
    const Limits* limits;
    char accounts_path[kMaxPath];
    std::uint64_t region_number;          // the accounts' inode
    std::atomic<std::int64_t> reaped_at;  // CLOCK_MONOTONIC, seconds
    std::atomic<int> cards[kMaxDevices];  // by CUdevice; card + 1, 0: not asked yet
    Holdings holdings;
    Contexts contexts;
    Table<ContextLimits> context_limits;
    Timing timing;
    Pools pools;
    Leavers leavers;
    Graphs graphs;
    SharedUse shared_use;
    PhysicalMemory physical_memory;
};

constinit std::atomic<Process*> kept = nullptr;

Process* make_process() {
    void* pages =
        mmap(nullptr, sizeof(Process), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return nullptr;
    Process* none = nullptr;
    auto* made = static_cast<Process*>(pages);
    if (madvise(pages, sizeof(Process), MADV_WIPEONFORK) == 0 &&
        kept.compare_exchange_strong(none, made))
        return made;
    munmap(pages, sizeof(Process));
    return kept.load();
}

Process* process() {
    Process* found = kept.load(std::memory_order_acquire);
    return found != nullptr ? found : make_process();
}

const char* text_of(SeatError error) {
    switch (error) {
        case SeatError::none:
            return "";
        case SeatError::no_file:
            return "cannot be opened";
        case SeatError::foreign_file:
            return "is of another version of the guard";
        case SeatError::full:
            return "has no room for another process: the container runs 1024 that use a GPU";
        case SeatError::not_kept:
            return "is on a file system that keeps no locks (an overlay?); move guard_folder";
    }
    return "";
}

CUresult cannot_begin(Process& process, const char* path, const char* what) {
    complain(process.has_complained, path, what);
    return kNotGuarded;
}

// Its inode. Not by stat(), which libraries for older libcs do not find.
std::uint64_t number_of_file(const char* path) {
    struct stat about = {};
    return syscall(SYS_newfstatat, AT_FDCWD, path, &about, 0) == 0 ? about.st_ino : 0;
}

// The loader is asked for our place before our lock is taken: a library that is being loaded may
// call us while it holds the loader's.
CUresult begin_now(Process& process) {
    char limits_path[kMaxPath];
    char accounts_path[kMaxPath];
    const bool has_place =
        path_of(kLimitsName, limits_path) && path_of(kAccountsName, accounts_path);
    const Locked lock(process.mutex);
    if (process.has_begun.load(std::memory_order_relaxed)) return CUDA_SUCCESS;
    if (!has_place) return cannot_begin(process, "the guard's library", kNoPlace);
    std::memcpy(process.accounts_path, accounts_path, sizeof accounts_path);
    process.limits = open_limits(limits_path);
    if (process.limits == nullptr) return cannot_begin(process, limits_path, kNoLimits);
    const SeatError error = take_seat(process.accounts_path, process.seat);
    if (error != SeatError::none)
        return cannot_begin(process, process.accounts_path, text_of(error));
    process.region_number = number_of_file(process.accounts_path);
    process.has_begun.store(true, std::memory_order_release);
    return CUDA_SUCCESS;
}

std::int64_t seconds_now() {
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

Granules limit_of(const Process& process, int card) {
    return process.limits->cards[card].memory.load(std::memory_order_relaxed);
}

// Takes back what the dead of the container held. On a descriptor of its own: a lock of ours on the
// file would otherwise look like theirs.
void reap(const Process& process) {
    const int fd = open(process.accounts_path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    reap_dead(*process.seat.accounts, fd);
    close(fd);
}

// Whoever died may have left what is asked for.
bool reserve_or_reap(const Process& process, int card, Granules granules) {
    const auto try_now = [&] {
        return reserve(*process.seat.accounts, card, process.seat.slot, granules,
                       limit_of(process, card));
    };
    if (granules == 0 || try_now()) return true;
    reap(process);
    return try_now();
}

bool count_within_limit(Process& process, int card, std::uint64_t bytes) {
    const Locked lock(process.mutex);
    if (!reserve_or_reap(process, card, process.holdings.cost_of(card, bytes))) return false;
    process.holdings.count(card, bytes);
    return true;
}

void uncount(Process& process, int card, std::uint64_t bytes) {
    const Granules worth = process.holdings.worth_of(card, bytes);
    process.holdings.discount(card, bytes);
    if (worth != 0) release(*process.seat.accounts, card, process.seat.slot, worth);
}

// What was exported is charged on as that. Where it shares a granule with others it has one of its
// own from here on.
void uncount(Process& process, const Holding& holding) {
    if (holding.shared == 0) return uncount(process, holding.card, holding.bytes);
    if (Holdings::shares_granules(holding.bytes)) {
        const Granules granules = granules_of(holding.bytes);
        reserve(*process.seat.accounts, holding.card, process.seat.slot, granules, kMaxGranules);
        uncount(process, holding.card, holding.bytes);
    }
    end_shared(*process.seat.accounts, holding.shared - 1);
}

}  // namespace

CUresult begin() {
    Process* here = process();
    if (here == nullptr) return kNotGuarded;
    if (here->has_begun.load(std::memory_order_acquire)) return CUDA_SUCCESS;
    return begin_now(*here);
}

int card_of(CUdevice device) {
    Process& here = *process();
    if (device < 0 || device >= kMaxDevices) return -1;
    const int known = here.cards[device].load(std::memory_order_relaxed);
    if (known != 0) return known - 1;
    CUuuid uuid;
    if (driver()->cuDeviceGetUuid(&uuid, device) != CUDA_SUCCESS) return -1;
    std::uint8_t bytes[sizeof uuid.bytes];
    std::memcpy(bytes, uuid.bytes, sizeof bytes);
    const int card = find_card(*here.limits, bytes);
    here.cards[device].store(card + 1, std::memory_order_relaxed);
    return card;
}

bool is_of_others(CUdevice device) {
    CUuuid uuid;
    return card_of(device) < 0 && driver()->cuDeviceGetUuid(&uuid, device) == CUDA_SUCCESS;
}

CUdevice device_of(int card) {
    const Process& here = *process();
    for (CUdevice device = 0; device < kMaxDevices; device++)
        if (here.cards[device].load(std::memory_order_relaxed) == card + 1) return device;
    return -1;
}

CUresult find_current(Current& current) {
    const Driver& real = *driver();
    CUdevice device = 0;
    if (const CUresult error = real.cuCtxGetDevice(&device); error != CUDA_SUCCESS) return error;
    if (const CUresult error = real.cuCtxGetCurrent(&current.context); error != CUDA_SUCCESS)
        return error;
    current.card = card_of(device);
    return current.card >= 0 ? CUDA_SUCCESS : kNotGuarded;
}

CUresult set_aside(int card, std::uint64_t bytes) {
    Process& here = *process();
    if (count_within_limit(here, card, bytes)) return CUDA_SUCCESS;
    if (give_unused_back(card) && count_within_limit(here, card, bytes)) return CUDA_SUCCESS;
    return refuse(card);
}

CUresult correct(int card, std::uint64_t set_aside_bytes, std::uint64_t taken_bytes) {
    if (set_aside_bytes == taken_bytes) return CUDA_SUCCESS;
    Process& here = *process();
    const Locked lock(here.mutex);
    const Granules before = here.holdings.worth_of(card, set_aside_bytes);
    here.holdings.discount(card, set_aside_bytes);
    const Granules after = here.holdings.cost_of(card, taken_bytes);
    if (after > before && !reserve_or_reap(here, card, after - before)) {
        here.holdings.count(card, set_aside_bytes);
        return refuse(card);
    }
    here.holdings.count(card, taken_bytes);
    if (after < before) give_granules(card, before - after);
    return CUDA_SUCCESS;
}

bool take_granules(int card, Granules granules) {
    return reserve_or_reap(*process(), card, granules);
}

void give_granules(int card, Granules granules) {
    const Seat& seat = process()->seat;
    if (granules != 0) release(*seat.accounts, card, seat.slot, granules);
}

void own_up_to(int card, Granules granules) {
    const Seat& seat = process()->seat;
    reserve(*seat.accounts, card, seat.slot, granules, kMaxGranules);
}

CUresult refuse(int card) {
    process()->seat.accounts->cards[card].refusals.fetch_add(1, std::memory_order_relaxed);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

// What stands at the address already was freed where we did not hear of it.
bool note(const Holding& holding) {
    Process& here = *process();
    const Locked lock(here.mutex);
    const Holding stale = here.holdings.take(holding.address);
    if (stale.address != 0 && stale.pool == 0) uncount(here, stale);
    return here.holdings.add(holding);
}

void put_back(int card, std::uint64_t bytes) {
    Process& here = *process();
    const Locked lock(here.mutex);
    uncount(here, card, bytes);
}

void put_back(const Holding& holding) {
    Process& here = *process();
    const Locked lock(here.mutex);
    uncount(here, holding);
}

Holding take_note(std::uint64_t address) {
    Process& here = *process();
    const Locked lock(here.mutex);
    return here.holdings.take(address);
}

int card_noted(std::uint64_t address) {
    Process& here = *process();
    const Locked lock(here.mutex);
    const Holding* found = here.holdings.find(address);
    return found != nullptr ? found->card : -1;
}

// Under the lock that notes are taken out under, and in the note itself: what another thread frees
// meanwhile takes its entry along, and whoever gets the address next has none of it.
bool share_noted(std::uint64_t address, std::uint64_t key) {
    Process& here = *process();
    const Locked lock(here.mutex);
    Holding* const holding = here.holdings.find(address);
    if (holding == nullptr || holding->pool != 0) return true;
    Accounts& accounts = *here.seat.accounts;
    const Granules granules = granules_of(holding->bytes);
    if (holding->shared != 0) {
        const int before = holding->shared - 1;
        if (accounts.shared_memory[before].key.load() == key) return true;
        // Under its other name others may have it, and it is charged for itself.
        own_up_to(holding->card, granules);
        end_shared(accounts, before);
        holding->shared = 0;
    }
    const int index = add_shared(accounts, {key, holding->card, granules}, here.seat.slot);
    if (index >= 0) holding->shared = static_cast<std::uint16_t>(index + 1);
    return index >= 0;
}

void put_back_all_of(CUcontext context) {
    Process& here = *process();
    {
        const Locked lock(here.mutex);
        std::uint64_t place = 0;
        for (;;) {
            const Holding gone = here.holdings.take_next_of(context, place);
            if (gone.address == 0) break;
            if (gone.pool == 0) uncount(here, gone);
            if (gone.pool != 0) here.pools.may_shrink.store(true, std::memory_order_relaxed);
        }
    }
    // What graphs left may have gone with it, and is in no note.
    if (here.graphs.have_memory()) here.pools.may_shrink.store(true, std::memory_order_relaxed);
    put_back_limits_of(context);
    forget_leavers_of(context);
    forget_opened_in(context);
    look_at_pools();
}

Pools& pools() {
    return process()->pools;
}

Leavers& leavers() {
    return process()->leavers;
}

SharedUse& shared_use() {
    return process()->shared_use;
}

const Seat& seat() {
    return process()->seat;
}

std::uint64_t region_number() {
    return process()->region_number;
}

Graphs& graphs() {
    return process()->graphs;
}

bool have_graphs_memory() {
    const Process* here = kept.load(std::memory_order_relaxed);
    return here != nullptr && here->graphs.have_memory();
}

PhysicalMemory& physical_memory() {
    return process()->physical_memory;
}

Timing& timing() {
    return process()->timing;
}

CardTime& card_time(int card) {
    const Seat& seat = process()->seat;
    return seat.accounts->times[seat.slot][card];
}

FlightLog& flight_log() {
    const Seat& seat = process()->seat;
    return seat.accounts->logs[seat.slot];
}

const CardLimit& card_limit(int card) {
    return process()->limits->cards[card];
}

Contexts& contexts() {
    return process()->contexts;
}

Table<ContextLimits>& context_limits() {
    return process()->context_limits;
}

std::uint64_t limit_bytes(int card) {
    return limit_of(*process(), card) * kGranuleBytes;
}

std::uint64_t held_bytes(int card) {
    Process& here = *process();
    const std::int64_t now = seconds_now();
    if (here.reaped_at.exchange(now, std::memory_order_relaxed) != now) reap(here);
    return held_now(card);
}

std::uint64_t held_now(int card) {
    return held(*process()->seat.accounts, card) * kGranuleBytes;
}

std::uint64_t context_bytes(int card) {
    const Process& here = *process();
    const Granules measured = here.seat.accounts->context_costs[card].load();
    const Granules told = here.limits->cards[card].context_cost.load(std::memory_order_relaxed);
    return std::uint64_t{measured != 0 ? measured : told} * kGranuleBytes;
}

}  // namespace tessera::guard
