#include "guard/process/process.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "guard/compute/timing.hpp"
#include "guard/inject/driver.hpp"
#include "guard/process/place.hpp"
#include "guard/region/account.hpp"
#include "guard/region/limits.hpp"

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
    std::atomic<std::int64_t> reaped_at;  // CLOCK_MONOTONIC, seconds
    std::atomic<int> cards[kMaxDevices];  // by CUdevice; card + 1, 0: not asked yet
    Holdings holdings;
    Contexts contexts;
    Timing timing;
};

constinit std::atomic<Process*> kept = nullptr;

class Locked {
  public:
    explicit Locked(Process& process) : mutex_(process.mutex) { pthread_mutex_lock(&mutex_); }
    ~Locked() { pthread_mutex_unlock(&mutex_); }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

  private:
    pthread_mutex_t& mutex_;
};

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

CUresult refuse(Process& process, const char* path, const char* what) {
    complain(process.has_complained, path, what);
    return kNotGuarded;
}

// The loader is asked for our place before our lock is taken: a library that is being loaded may
// call us while it holds the loader's.
CUresult begin_now(Process& process) {
    char limits_path[kMaxPath];
    char accounts_path[kMaxPath];
    const bool has_place =
        path_of(kLimitsName, limits_path) && path_of(kAccountsName, accounts_path);
    const Locked lock(process);
    if (process.has_begun.load(std::memory_order_relaxed)) return CUDA_SUCCESS;
    if (!has_place) return refuse(process, "the guard's library", kNoPlace);
    std::memcpy(process.accounts_path, accounts_path, sizeof accounts_path);
    process.limits = open_limits(limits_path);
    if (process.limits == nullptr) return refuse(process, limits_path, kNoLimits);
    const SeatError error = take_seat(process.accounts_path, process.seat);
    if (error != SeatError::none) return refuse(process, process.accounts_path, text_of(error));
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
bool reserve_after_reaping(const Process& process, int card, Granules granules) {
    reap(process);
    return reserve(*process.seat.accounts, card, process.seat.slot, granules,
                   limit_of(process, card));
}

void uncount(Process& process, int card, std::uint64_t bytes) {
    const Granules worth = process.holdings.worth_of(card, bytes);
    process.holdings.discount(card, bytes);
    if (worth != 0) release(*process.seat.accounts, card, process.seat.slot, worth);
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
    Accounts& accounts = *here.seat.accounts;
    const Locked lock(here);
    const Granules cost = here.holdings.cost_of(card, bytes);
    const bool is_within = cost == 0 ||
                           reserve(accounts, card, here.seat.slot, cost, limit_of(here, card)) ||
                           reserve_after_reaping(here, card, cost);
    if (!is_within) {
        accounts.cards[card].refusals.fetch_add(1, std::memory_order_relaxed);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    here.holdings.count(card, bytes);
    return CUDA_SUCCESS;
}

// What stands at the address already was freed where we did not hear of it.
bool note(const Holding& holding) {
    Process& here = *process();
    const Locked lock(here);
    const Holding stale = here.holdings.take(holding.address);
    if (stale.address != 0) uncount(here, stale.card, stale.bytes);
    return here.holdings.add(holding);
}

void put_back(int card, std::uint64_t bytes) {
    Process& here = *process();
    const Locked lock(here);
    uncount(here, card, bytes);
}

Holding take_note(std::uint64_t address) {
    Process& here = *process();
    const Locked lock(here);
    return here.holdings.take(address);
}

void put_back_all_of(CUcontext context) {
    Process& here = *process();
    const Locked lock(here);
    std::uint64_t place = 0;
    for (;;) {
        const Holding gone = here.holdings.take_next_of(context, place);
        if (gone.address == 0) return;
        uncount(here, gone.card, gone.bytes);
    }
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

std::uint64_t limit_bytes(int card) {
    return limit_of(*process(), card) * kGranuleBytes;
}

std::uint64_t held_bytes(int card) {
    Process& here = *process();
    const std::int64_t now = seconds_now();
    if (here.reaped_at.exchange(now, std::memory_order_relaxed) != now) reap(here);
    return held(*here.seat.accounts, card) * kGranuleBytes;
}

std::uint64_t context_bytes(int card) {
    return process()->limits->cards[card].context_cost.load(std::memory_order_relaxed) *
           kGranuleBytes;
}

}  // namespace tessera::guard
