// What this process is charged for in the container's accounts, and its own records of it.
#include "guard/process/charges.hpp"

#include <algorithm>

#include "guard/base/locked.hpp"
#include "guard/process/driver_memory.hpp"
#include "guard/process/state.hpp"
#include "guard/region/account.hpp"
#include "guard/region/clock.hpp"
#include "guard/region/mapping.hpp"

namespace tessera::guard {
namespace {

// By the kernel's clock, which the program cannot shift or stop (inject/kernel_clock.hpp).
std::int64_t seconds_now() {
    return monotonic_ns() / 1'000'000'000;
}

AllocationUnits limit_of(const Process& process, int gpu) {
    return process.limits->gpus[gpu].memory.load(std::memory_order_relaxed);
}

bool reserve_within_limit(const Process& process, int gpu, AllocationUnits units) {
    return units == 0 || reserve(*process.process_slot.accounts, gpu, process.process_slot.slot,
                                 units, limit_of(process, gpu));
}

// Dead processes may still be charged for the memory that is requested.
bool reserve_or_reap(const Process& process, int gpu, AllocationUnits units) {
    if (reserve_within_limit(process, gpu, units)) return true;
    reap();
    return reserve_within_limit(process, gpu, units);
}

bool count_within_limit(Process& process, int gpu, std::uint64_t bytes) {
    const Locked lock(process.mutex);
    if (!reserve_or_reap(process, gpu, process.holdings.cost_of(gpu, bytes))) return false;
    process.holdings.count(gpu, bytes);
    return true;
}

void uncount(Process& process, int gpu, std::uint64_t bytes) {
    const AllocationUnits worth = process.holdings.worth_of(gpu, bytes);
    process.holdings.discount(gpu, bytes);
    if (worth != 0) release(*process.process_slot.accounts, gpu, process.process_slot.slot, worth);
}

// Exported memory stays charged under its entry of the region. If it shared an allocation unit with
// other allocations, it has a unit of its own from here on.
void uncount(Process& process, const Holding& holding) {
    if (holding.shared == 0) return uncount(process, holding.gpu, holding.bytes);
    if (Holdings::shares_units(holding.bytes)) {
        const AllocationUnits units = units_of(holding.bytes);
        reserve(*process.process_slot.accounts, holding.gpu, process.process_slot.slot, units,
                kMaxAllocationUnits);
        uncount(process, holding.gpu, holding.bytes);
    }
    end_shared(*process.process_slot.accounts, holding.shared - 1);
}

}  // namespace

CUresult reserve(int gpu, std::uint64_t bytes) {
    Process& here = *process();
    if (count_within_limit(here, gpu, bytes)) return CUDA_SUCCESS;
    if (give_unused_back(gpu) && count_within_limit(here, gpu, bytes)) return CUDA_SUCCESS;
    return refuse(gpu);
}

CUresult correct(int gpu, std::uint64_t reserve_bytes, std::uint64_t taken_bytes) {
    if (reserve_bytes == taken_bytes) return CUDA_SUCCESS;
    Process& here = *process();
    const Locked lock(here.mutex);
    const AllocationUnits before = here.holdings.worth_of(gpu, reserve_bytes);
    here.holdings.discount(gpu, reserve_bytes);
    const AllocationUnits after = here.holdings.cost_of(gpu, taken_bytes);
    if (after > before && !reserve_or_reap(here, gpu, after - before)) {
        here.holdings.count(gpu, reserve_bytes);
        return refuse(gpu);
    }
    here.holdings.count(gpu, taken_bytes);
    if (after < before) give_units(gpu, before - after);
    return CUDA_SUCCESS;
}

// Uses a descriptor of its own: a lock of ours on the file would otherwise look like another
// process's.
void reap() {
    const Process& here = *process();
    const Opened file(here.accounts_path, O_RDWR);
    if (file.fd() >= 0) reap_dead(*here.process_slot.accounts, file.fd());
}

int add_or_reap(const SharedName& name) {
    const ProcessSlot& mine = process_slot();
    const int index = add_shared(*mine.accounts, name, mine.slot);
    if (index >= 0) return index;
    reap();
    return add_shared(*mine.accounts, name, mine.slot);
}

bool take_units_left(int gpu, AllocationUnits units) {
    return reserve_within_limit(*process(), gpu, units);
}

bool take_units(int gpu, AllocationUnits units) {
    return reserve_or_reap(*process(), gpu, units);
}

CUresult take_for_adoption(int gpu, AllocationUnits units) {
    if (take_units(gpu, units)) return CUDA_SUCCESS;
    if (give_unused_back(gpu) && take_units(gpu, units)) return CUDA_SUCCESS;
    return refuse(gpu);
}

void give_units(int gpu, AllocationUnits units) {
    const ProcessSlot& process_slot = process()->process_slot;
    if (units != 0) release(*process_slot.accounts, gpu, process_slot.slot, units);
}

void force_charge(int gpu, AllocationUnits units) {
    const ProcessSlot& process_slot = process()->process_slot;
    reserve(*process_slot.accounts, gpu, process_slot.slot, units, kMaxAllocationUnits);
}

CUresult refuse(int gpu) {
    process()->process_slot.accounts->gpus[gpu].refusals.fetch_add(1, std::memory_order_relaxed);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

// A holding that is already at the address was freed without a call that we saw.
bool record(const Holding& holding) {
    Process& here = *process();
    const Locked lock(here.mutex);
    const Holding stale = here.holdings.take(holding.address);
    if (stale.address != 0 && stale.pool == 0) uncount(here, stale);
    return here.holdings.add(holding);
}

void release(int gpu, std::uint64_t bytes) {
    Process& here = *process();
    const Locked lock(here.mutex);
    uncount(here, gpu, bytes);
}

void release(const Holding& holding) {
    Process& here = *process();
    const Locked lock(here.mutex);
    uncount(here, holding);
}

Holding take_record(std::uint64_t address) {
    Process& here = *process();
    const Locked lock(here.mutex);
    return here.holdings.take(address);
}

void grow_recorded(std::uint64_t address, std::uint64_t bytes) {
    Process& here = *process();
    const Locked lock(here.mutex);
    Holding* const holding = here.holdings.find(address);
    if (holding == nullptr || holding->pool != 0 || holding->shared != 0) return;
    const int gpu = holding->gpu;
    const AllocationUnits before = here.holdings.worth_of(gpu, holding->bytes);
    here.holdings.discount(gpu, holding->bytes);
    holding->bytes += bytes;
    const AllocationUnits after = here.holdings.cost_of(gpu, holding->bytes);
    here.holdings.count(gpu, holding->bytes);
    if (after > before) force_charge(gpu, after - before);
}

int gpu_of_record(std::uint64_t address) {
    Process& here = *process();
    const Locked lock(here.mutex);
    const Holding* found = here.holdings.find(address);
    return found != nullptr ? found->gpu : -1;
}

// Runs under the lock that take_record() uses, and stores the entry in the record itself. So a free
// in another thread takes the entry along, and the next owner of the address does not get it.
bool share_recorded(std::uint64_t address, std::uint64_t key) {
    Process& here = *process();
    const Locked lock(here.mutex);
    Holding* const holding = here.holdings.find(address);
    if (holding == nullptr || holding->pool != 0) return true;
    Accounts& accounts = *here.process_slot.accounts;
    const AllocationUnits units = units_of(holding->bytes);
    if (holding->shared != 0) {
        const int before = holding->shared - 1;
        if (accounts.shared_memory[before].key.load() == key) return true;
        // Other processes may have it under its other name, so that entry is charged separately.
        force_charge(holding->gpu, units);
        end_shared(accounts, before);
        holding->shared = 0;
    }
    const int index = add_or_reap({key, holding->gpu, units});
    if (index >= 0) holding->shared = static_cast<std::uint16_t>(index + 1);
    return index >= 0;
}

void release_all_of(CUcontext context) {
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
    // What graphs left in their pools may have gone with the context, and no record says so.
    if (here.graphs.have_memory()) here.pools.may_shrink.store(true, std::memory_order_relaxed);
    release_limits_of(context);
    forget_all_used();
    forget_pending_frees_of(context);
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
    forget_all_used();
    pass_on_pending_frees_of(green, primary);
    pass_on_opened_in(green, primary);
}

std::uint64_t limit_bytes(int gpu) {
    return limit_of(*process(), gpu) * kAllocationUnitBytes;
}

std::uint64_t held_bytes(int gpu) {
    Process& here = *process();
    const std::int64_t now = seconds_now();
    if (here.reaped_at.exchange(now, std::memory_order_relaxed) != now) {
        reap();
    } else {
        give_closed_back(*here.process_slot.accounts);
    }
    return held_now(gpu);
}

std::uint64_t held_now(int gpu) {
    return held(*process()->process_slot.accounts, gpu) * kAllocationUnitBytes;
}

std::uint64_t context_bytes(int gpu, int kind) {
    const Process& here = *process();
    const auto& costs = here.process_slot.accounts->context_costs[gpu];
    if (costs[kind].is_known()) return std::uint64_t{costs[kind].units()} * kAllocationUnitBytes;
    bool is_any_known = false;
    AllocationUnits most = 0;
    for (const MeasuredCost& other : costs) {
        is_any_known |= other.is_known();
        most = std::max(most, other.units());
    }
    const AllocationUnits configured =
        here.limits->gpus[gpu].context_cost.load(std::memory_order_relaxed);
    return std::uint64_t{is_any_known ? most : configured} * kAllocationUnitBytes;
}

}  // namespace tessera::guard
