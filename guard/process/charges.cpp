// What this process is charged for in the container's accounts, and what it has noted of it.
#include "guard/process/charges.hpp"

#include <time.h>

#include <algorithm>

#include "guard/process/driver_memory.hpp"
#include "guard/process/locked.hpp"
#include "guard/process/state.hpp"
#include "guard/region/account.hpp"
#include "guard/region/mapping.hpp"

namespace tessera::guard {
namespace {

std::int64_t seconds_now() {
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

Granules limit_of(const Process& process, int card) {
    return process.limits->cards[card].memory.load(std::memory_order_relaxed);
}

bool reserve_within_limit(const Process& process, int card, Granules granules) {
    return granules == 0 || reserve(*process.seat.accounts, card, process.seat.slot, granules,
                                    limit_of(process, card));
}

// Whoever died may have left what is asked for.
bool reserve_or_reap(const Process& process, int card, Granules granules) {
    if (reserve_within_limit(process, card, granules)) return true;
    reap();
    return reserve_within_limit(process, card, granules);
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

// On a descriptor of its own: a lock of ours on the file would otherwise look like theirs.
void reap() {
    const Process& here = *process();
    const Opened file(here.accounts_path, O_RDWR);
    if (file.fd() >= 0) reap_dead(*here.seat.accounts, file.fd());
}

int add_or_reap(const SharedName& name) {
    const Seat& mine = seat();
    const int index = add_shared(*mine.accounts, name, mine.slot);
    if (index >= 0) return index;
    reap();
    return add_shared(*mine.accounts, name, mine.slot);
}

bool take_granules_left(int card, Granules granules) {
    return reserve_within_limit(*process(), card, granules);
}

bool take_granules(int card, Granules granules) {
    return reserve_or_reap(*process(), card, granules);
}

CUresult take_for_adoption(int card, Granules granules) {
    if (take_granules(card, granules)) return CUDA_SUCCESS;
    if (give_unused_back(card) && take_granules(card, granules)) return CUDA_SUCCESS;
    return refuse(card);
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

void grow_noted(std::uint64_t address, std::uint64_t bytes) {
    Process& here = *process();
    const Locked lock(here.mutex);
    Holding* const holding = here.holdings.find(address);
    if (holding == nullptr || holding->pool != 0 || holding->shared != 0) return;
    const int card = holding->card;
    const Granules before = here.holdings.worth_of(card, holding->bytes);
    here.holdings.discount(card, holding->bytes);
    holding->bytes += bytes;
    const Granules after = here.holdings.cost_of(card, holding->bytes);
    here.holdings.count(card, holding->bytes);
    if (after > before) own_up_to(card, after - before);
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
    const int index = add_or_reap({key, holding->card, granules});
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
    forget_all_seen();
    forget_leavers_of(context);
    forget_opened_in(context);
    look_at_pools();
}

void pass_on_all_of(CUcontext green, CUcontext primary) {
    Process& here = *process();
    {
        const Locked lock(here.mutex);
        here.holdings.pass_on(green, primary);
    }
    pass_on_limits_of(green, primary);
    forget_all_seen();
    pass_on_leavers_of(green, primary);
    pass_on_opened_in(green, primary);
}

std::uint64_t limit_bytes(int card) {
    return limit_of(*process(), card) * kGranuleBytes;
}

std::uint64_t held_bytes(int card) {
    Process& here = *process();
    const std::int64_t now = seconds_now();
    if (here.reaped_at.exchange(now, std::memory_order_relaxed) != now) {
        reap();
    } else {
        give_closed_back(*here.seat.accounts);
    }
    return held_now(card);
}

std::uint64_t held_now(int card) {
    return held(*process()->seat.accounts, card) * kGranuleBytes;
}

std::uint64_t context_bytes(int card, int kind) {
    const Process& here = *process();
    const auto& costs = here.seat.accounts->context_costs[card];
    if (costs[kind].is_known()) return std::uint64_t{costs[kind].granules()} * kGranuleBytes;
    bool is_any_known = false;
    Granules most = 0;
    for (const MeasuredCost& other : costs) {
        is_any_known |= other.is_known();
        most = std::max(most, other.granules());
    }
    const Granules told = here.limits->cards[card].context_cost.load(std::memory_order_relaxed);
    return std::uint64_t{is_any_known ? most : told} * kGranuleBytes;
}

}  // namespace tessera::guard
