#include "guard/process/pools.hpp"

#include "guard/base/locked.hpp"
#include "guard/base/relaxed.hpp"
#include "guard/inject/driver.hpp"
#include "guard/process/charges.hpp"
#include "guard/process/location.hpp"
#include "guard/process/pending_frees.hpp"

namespace tessera::guard {
namespace {

bool ask_reserved(const Pool& pool, std::uint64_t& bytes) {
    const Driver& real = *driver();
    if (is_for_graphs(pool)) {
        const auto& get = real.cuDeviceGetGraphMemAttribute;
        return get && get(device_of(pool.gpu), CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &bytes) ==
                          CUDA_SUCCESS;
    }
    const auto& get = real.cuMemPoolGetAttribute;
    return get && get(pool.handle, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &bytes) == CUDA_SUCCESS;
}

// The caller of the functions below must hold the mutex.

void forget_freed(Pools& here, std::uint32_t pool) {
    for (Freed& each : here.freed)
        if (each.pool == pool) each = {};
}

// False if the driver has taken more than was reserved, and more than the limit allows.
bool count_anew(Pools& here, Pool& pool) {
    std::uint64_t bytes = 0;
    if (!ask_reserved(pool, bytes)) return true;
    const AllocationUnits now = units_of(bytes);
    if (now < pool.reserved) {  // some of it is gone
        forget_freed(here, pool.number);
        pool.shrinks++;
    }
    pool.reserved = now;
    const AllocationUnits most = now + pool.growth;
    if (pool.counted > most) {
        give_units(pool.gpu, pool.counted - most);
        pool.counted = most;
    }
    if (pool.counted >= now) return true;
    const AllocationUnits more = now - pool.counted;
    const bool is_within = take_units(pool.gpu, more);
    if (!is_within) force_charge(pool.gpu, more);
    pool.counted = now;
    return is_within;
}

void trim(Pool& pool) {
    const Driver& real = *driver();
    pool.shrinks++;
    if (is_for_graphs(pool)) {
        if (real.cuDeviceGraphMemTrim) real.cuDeviceGraphMemTrim(device_of(pool.gpu));
    } else if (real.cuMemPoolTrimTo) {
        real.cuMemPoolTrimTo(pool.handle, 0);
    }
}

void destroy_ended(Pools& here) {
    std::uint64_t place = 0;
    for (;;) {
        const Pool ended = here.all.take_next(
            place, [](const Pool& each) { return each.is_ending && each.counted == 0; });
        if (ended.handle == nullptr) return;
        driver()->cuMemPoolDestroy(ended.handle);
    }
}

void count_all_anew(Pools& here) {
    bool may_shrink = false;
    here.all.for_each([&](Pool& pool) {
        if (pool.is_ending) trim(pool);
        count_anew(here, pool);
        may_shrink = may_shrink || pool.counted != 0;
    });
    destroy_ended(here);
    here.may_shrink.store(may_shrink, std::memory_order_relaxed);
}

// Removes a freed piece that is large enough. The driver may always reuse in a stream what was
// freed in that stream, so the pool need not grow for it.
bool take_freed(Pools& here, const Pool& pool, const PoolRequest& request) {
    for (Freed& each : here.freed) {
        if (each.pool != pool.number || each.bytes < in_grains(request.bytes)) continue;
        const bool is_its_own = each.stream == request.stream && each.context == request.context;
        if (!is_its_own && !each.is_for_everyone) continue;
        each = {};
        return true;
    }
    return false;
}

// Freed memory is used again; the rest of the piece stays free.
void use_freed(Pools& here, std::uint64_t address, std::uint64_t bytes) {
    const std::uint64_t end = address + in_grains(bytes);
    for (Freed& each : here.freed) {
        const std::uint64_t each_end = each.address + each.bytes;
        if (each.pool == 0 || each_end <= address || end <= each.address) continue;
        if (end >= each_end) {
            each = {};
        } else {
            each.address = end;
            each.bytes = each_end - end;
        }
    }
}

Pool* find_or_add(Pools& here, CUmemoryPool handle, int gpu) {
    Pool* known = here.all.find(key_of(handle));
    if (known != nullptr) return known;
    if (!here.all.add({handle, ++here.last_number, gpu, 0, 0, 0, 0, false, false})) return nullptr;
    return here.all.find(key_of(handle));
}

// The handle may have been another pool's. If there is no memory for the record, the pool counts as
// a GPU's.
void note_of_host(Pools& here, CUmemoryPool handle) {
    if (here.all.find(key_of(handle)) == nullptr) here.of_host.add({handle});
}

// Drivers report this since CUDA 13.
bool ask_gpu(CUmemoryPool handle, int& gpu) {
    const auto& get = driver()->cuMemPoolGetAttribute;
    CUmemLocation at = {};
    CUmemAllocationType type = CU_MEM_ALLOCATION_TYPE_PINNED;
    const bool is_said = get &&
                         get(handle, CU_MEMPOOL_ATTR_LOCATION_TYPE, &at.type) == CUDA_SUCCESS &&
                         get(handle, CU_MEMPOOL_ATTR_LOCATION_ID, &at.id) == CUDA_SUCCESS &&
                         get(handle, CU_MEMPOOL_ATTR_ALLOCATION_TYPE, &type) == CUDA_SUCCESS;
    if (is_said) gpu = gpu_of_pool_at(at, type);
    return is_said;
}

// Does what the driver does when a current pool is destroyed.
void stop_being_current(const Pool& pool) {
    const Driver& real = *driver();
    const CUdevice device = device_of(pool.gpu);
    CUmemoryPool current = nullptr;
    if (real.cuDeviceGetMemPool(&current, device) != CUDA_SUCCESS || current != pool.handle) return;
    if (real.cuDeviceGetDefaultMemPool(&current, device) == CUDA_SUCCESS)
        real.cuDeviceSetMemPool(device, current);
}

template <typename Match>
void let_everyone_have(Pools& here, const Match& match) {
    if (!here.may_shrink.load(std::memory_order_relaxed)) return;
    CUcontext context = nullptr;
    driver()->cuCtxGetCurrent(&context);
    const Locked lock(here.mutex);
    for (Freed& each : here.freed)
        if (each.context == context && match(each)) each.is_for_everyone = true;
}

}  // namespace

CUresult reserve_growth(const PoolRequest& request, GrowthReservation& reservation) {
    Pools& here = pools();
    reservation.units = units_of(request.bytes);
    bool is_reserved = take_units_left(request.gpu, reservation.units);
    if (!is_reserved) {
        const Locked lock(here.mutex);
        const Pool* pool = here.all.find(key_of(request.pool));
        if (pool != nullptr && take_freed(here, *pool, request)) {
            reservation.units = 0;
            is_reserved = true;
        }
    }
    is_reserved = is_reserved || take_units(request.gpu, reservation.units);
    if (!is_reserved && give_unused_back(request.gpu))
        is_reserved = take_units(request.gpu, reservation.units);
    if (!is_reserved) return refuse(request.gpu);
    const Locked lock(here.mutex);
    Pool* pool = find_or_add(here, request.pool, request.gpu);
    if (pool != nullptr) {
        reservation.pool = pool->number;
        pool->growth += reservation.units;
        pool->counted += reservation.units;
        return CUDA_SUCCESS;
    }
    give_units(request.gpu, reservation.units);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

bool settle_growth(const PoolRequest& request, const GrowthReservation& reservation,
                   std::uint64_t address) {
    Pools& here = pools();
    const Locked lock(here.mutex);
    Pool* const pool = here.all.find(key_of(request.pool));
    // The pool was destroyed meanwhile: the driver's memory is another pool's, and is charged
    // nowhere.
    if (pool == nullptr) return address == 0;
    pool->growth -= reservation.units;
    const bool is_within = count_anew(here, *pool);
    if (address != 0) use_freed(here, address, request.bytes);
    return is_within;
}

// A pool without a record was not created by the program. So it is a device's default pool, or the
// driver can report its location.
int gpu_of_pool(CUmemoryPool handle, int otherwise) {
    {
        Pools& here = pools();
        const Locked lock(here.mutex);
        if (here.of_host.find(key_of(handle)) != nullptr) return kNoGpu;
        const Pool* pool = here.all.find(key_of(handle));
        if (pool != nullptr) return pool->gpu;
    }
    if (int gpu = -1; ask_gpu(handle, gpu)) return gpu;
    const auto& ask = driver()->cuDeviceGetDefaultMemPool;
    CUmemoryPool of_device = nullptr;
    for (CUdevice device = 0; ask && device < kMaxDevices; device++) {
        if (ask(&of_device, device) != CUDA_SUCCESS) break;
        if (of_device == handle) return gpu_of(device);
    }
    return otherwise;
}

void note_pool(CUmemoryPool handle, int gpu) {
    Pools& here = pools();
    const Locked lock(here.mutex);
    if (gpu == kNoGpu) return note_of_host(here, handle);
    here.of_host.take(key_of(handle));
    Pool* pool = find_or_add(here, handle, gpu);
    if (pool != nullptr) pool->is_made = true;
}

void note_found_pool(CUmemoryPool handle, int gpu) {
    Pools& here = pools();
    const Locked lock(here.mutex);
    if (gpu == kNoGpu) return note_of_host(here, handle);
    if (gpu >= 0) find_or_add(here, handle, gpu);
}

void forget_host_pool(CUmemoryPool handle) {
    Pools& here = pools();
    const Locked lock(here.mutex);
    here.of_host.take(key_of(handle));
}

bool end_pool(CUmemoryPool handle) {
    Pools& here = pools();
    const Locked lock(here.mutex);
    Pool* pool = here.all.find(key_of(handle));
    if (pool == nullptr || !pool->is_made || pool->is_ending) return false;
    pool->is_ending = true;
    stop_being_current(*pool);
    count_all_anew(here);
    return true;
}

bool is_ending(CUmemoryPool handle) {
    Pools& here = pools();
    const Locked lock(here.mutex);
    const Pool* pool = here.all.find(key_of(handle));
    return pool != nullptr && pool->is_ending;
}

std::uint32_t shrinks_of(CUmemoryPool handle) {
    Pools& here = pools();
    const Locked lock(here.mutex);
    const Pool* pool = here.all.find(key_of(handle));
    return pool != nullptr ? pool->shrinks : 0;
}

void note_trimmed(CUmemoryPool handle) {
    Pools& here = pools();
    const Locked lock(here.mutex);
    Pool* pool = here.all.find(key_of(handle));
    if (pool == nullptr) return;
    pool->shrinks++;
    count_anew(here, *pool);
}

void note_freed(const Holding& holding, CUstream stream, bool is_for_everyone) {
    Pools& here = pools();
    const Locked lock(here.mutex);
    here.freed[here.next_freed++ % kMaxFreed] = {
        holding.pool,    holding.address, in_grains(holding.bytes),
        holding.context, stream,          is_for_everyone};
    here.may_shrink.store(true, std::memory_order_relaxed);
}

void look_at_pools() {
    release_done_frees();
    Pools& here = pools();
    if (!here.may_shrink.load(std::memory_order_relaxed)) return;
    const Locked lock(here.mutex);
    const Relaxed relaxed;
    count_all_anew(here);
}

void look_after_wait(CUstream stream) {
    let_everyone_have(pools(), [stream](const Freed& each) { return each.stream == stream; });
    look_at_pools();
}

void look_after_wait_for_all() {
    let_everyone_have(pools(), [](const Freed&) { return true; });
    look_at_pools();
}

void forget_freed_in(CUstream stream) {
    Pools& here = pools();
    if (!here.may_shrink.load(std::memory_order_relaxed)) return;
    const Locked lock(here.mutex);
    for (Freed& each : here.freed)
        if (each.stream == stream && !each.is_for_everyone) each = {};
}

bool give_unused_back(int gpu) {
    const bool have_left = release_done_frees();
    Pools& here = pools();
    const Locked lock(here.mutex);
    if (here.all.is_empty()) return have_left;
    const Relaxed relaxed;
    here.all.for_each([&](Pool& pool) {
        if (pool.gpu == gpu) trim(pool);
    });
    count_all_anew(here);
    return true;
}

}  // namespace tessera::guard
