// Stream-ordered memory, and the pools that it comes from: a pool is charged for what it has
// reserved (process/pools.hpp).
#include "guard/process/pools.hpp"

#include "guard/hooks/enter.hpp"
#include "guard/hooks/work/stream_of.hpp"
#include "guard/process/capture.hpp"
#include "guard/process/charges.hpp"
#include "guard/process/location.hpp"
#include "guard/process/pending_frees.hpp"

using namespace tessera::guard;  // the hooks are extern "C", outside the namespace

namespace {

// `stream` is the stream of the call; a null pool means that of its device.
template <typename Call>
CUresult allocate(CUdeviceptr* pointer, std::size_t bytes, CUmemoryPool pool, CUstream stream,
                  const Call& call) {
    // A graph that is being captured takes nothing yet: it is charged when it is launched
    // (graphs.cpp).
    if (pointer == nullptr || bytes == 0 || is_capturing(stream)) return call();
    Current owner;
    if (const CUresult none = find_owner(stream, owner); none != CUDA_SUCCESS) return none;
    if (pool == nullptr) {
        const CUresult none = driver()->cuDeviceGetMemPool(&pool, device_of(owner.gpu));
        if (none != CUDA_SUCCESS) return none;
    }
    const int gpu = gpu_of_pool(pool, owner.gpu);
    if (gpu == kNoGpu) return call();
    if (gpu < 0) return kNotGuarded;
    const PoolRequest request{pool, gpu, owner.context, stream, bytes};
    GrowthReservation reservation = {};
    if (const CUresult over = reserve_growth(request, reservation); over != CUDA_SUCCESS)
        return over;
    const CUresult result = call();
    const bool is_given = result == CUDA_SUCCESS;
    const bool is_within = settle_growth(request, reservation, is_given ? *pointer : 0);
    if (!is_given) return result;
    if (is_within && record(holding_at(*pointer, owner.context, bytes, gpu, reservation.pool)))
        return result;
    driver()->cuMemFreeAsync(*pointer, stream);
    give_unused_back(gpu);
    return refuse(gpu);
}

// The driver's own pools may be in host memory: their location is known when a program queries one.
template <typename Function>
CUresult find_pool(Function Driver::* slot, CUmemoryPool* pool, CUmemLocation* location,
                   CUmemAllocationType type) {
    const Entered real(slot);
    const CUresult result = real(pool, location, type);
    if (real.must_enforce() && result == CUDA_SUCCESS && pool != nullptr && location != nullptr)
        note_found_pool(*pool, gpu_of_pool_at(*location, type));
    return result;
}

// `stream` is the stream of the call.
template <typename Call>
CUresult free_in_order(CUdeviceptr pointer, CUstream stream, const Call& call) {
    const Holding held = take_record(pointer);
    const CUresult result = call();
    if (held.address == 0) return result;
    if (result != CUDA_SUCCESS) {
        record(held);  // there is room: it has just been removed
    } else if (held.pool != 0) {
        note_freed(held, stream, false);
    } else {
        record_pending_free(held, stream);
    }
    return result;
}

// The driver reports what is wrong with that. If it accepts the call, the memory is freed again:
// without a pool the guard cannot tell what was reserved.
template <typename Real>
CUresult take_from_none(const Real& real, CUdeviceptr* pointer, std::size_t bytes,
                        CUstream stream) {
    const CUresult result = real(pointer, bytes, CUmemoryPool{}, stream);
    if (result != CUDA_SUCCESS || pointer == nullptr) return result;
    driver()->cuMemFreeAsync(*pointer, stream);
    return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

CUresult cuMemAllocAsync(CUdeviceptr* pointer, size_t bytes, CUstream stream) {
    const Entered real(&Driver::cuMemAllocAsync);
    if (!real.must_enforce()) return real(pointer, bytes, stream);
    return allocate(pointer, bytes, nullptr, stream, [&] { return real(pointer, bytes, stream); });
}

CUresult cuMemAllocAsync_ptsz(CUdeviceptr* pointer, size_t bytes, CUstream stream) {
    const Entered real(&Driver::cuMemAllocAsync_ptsz);
    if (!real.must_enforce()) return real(pointer, bytes, stream);
    return allocate(pointer, bytes, nullptr, of_thread(stream),
                    [&] { return real(pointer, bytes, stream); });
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* pointer, size_t bytes, CUmemoryPool pool,
                                 CUstream stream) {
    const Entered real(&Driver::cuMemAllocFromPoolAsync);
    if (!real.must_enforce()) return real(pointer, bytes, pool, stream);
    if (pool == nullptr) return take_from_none(real, pointer, bytes, stream);
    if (is_ending(pool)) return CUDA_ERROR_INVALID_VALUE;
    return allocate(pointer, bytes, pool, stream,
                    [&] { return real(pointer, bytes, pool, stream); });
}

CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* pointer, size_t bytes, CUmemoryPool pool,
                                      CUstream stream) {
    const Entered real(&Driver::cuMemAllocFromPoolAsync_ptsz);
    if (!real.must_enforce()) return real(pointer, bytes, pool, stream);
    if (pool == nullptr) return take_from_none(real, pointer, bytes, stream);
    if (is_ending(pool)) return CUDA_ERROR_INVALID_VALUE;
    return allocate(pointer, bytes, pool, of_thread(stream),
                    [&] { return real(pointer, bytes, pool, stream); });
}

CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream) {
    const Entered real(&Driver::cuMemFreeAsync);
    if (!real.must_enforce()) return real(pointer, stream);
    return free_in_order(pointer, stream, [&] { return real(pointer, stream); });
}

CUresult cuMemFreeAsync_ptsz(CUdeviceptr pointer, CUstream stream) {
    const Entered real(&Driver::cuMemFreeAsync_ptsz);
    if (!real.must_enforce()) return real(pointer, stream);
    return free_in_order(pointer, of_thread(stream), [&] { return real(pointer, stream); });
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
    const Entered real(&Driver::cuMemPoolCreate);
    if (!real.must_enforce() || pool == nullptr || properties == nullptr)
        return real(pool, properties);
    const MemoryPlace place = place_of(properties->location);
    if (place.kind == MemoryPlace::Kind::device && is_of_others(place.device)) return kNotGuarded;
    const CUresult result = real(pool, properties);
    if (result != CUDA_SUCCESS) return result;
    const int gpu = gpu_of_pool_at(properties->location, properties->allocType);
    if (gpu == -1) {
        driver()->cuMemPoolDestroy(*pool);
        return kNotGuarded;
    }
    note_pool(*pool, gpu);
    return result;
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation* location,
                                CUmemAllocationType type) {
    return find_pool(&Driver::cuMemGetDefaultMemPool, pool, location, type);
}

CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
    return find_pool(&Driver::cuMemGetMemPool, pool, location, type);
}

CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool pool) {
    const Entered real(&Driver::cuMemSetMemPool);
    if (!real.must_enforce()) return real(location, type, pool);
    return is_ending(pool) ? CUDA_ERROR_INVALID_VALUE : real(location, type, pool);
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
    const Entered real(&Driver::cuMemPoolDestroy);
    if (!real.must_enforce()) return real(pool);
    if (is_ending(pool)) return CUDA_ERROR_INVALID_VALUE;
    if (end_pool(pool)) return CUDA_SUCCESS;
    const CUresult result = real(pool);
    if (result == CUDA_SUCCESS) forget_host_pool(pool);
    return result;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
    const Entered real(&Driver::cuMemPoolSetAttribute);
    if (!real.must_enforce()) return real(pool, attribute, value);
    return is_ending(pool) ? CUDA_ERROR_INVALID_VALUE : real(pool, attribute, value);
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
    const Entered real(&Driver::cuDeviceSetMemPool);
    if (!real.must_enforce()) return real(device, pool);
    return is_ending(pool) ? CUDA_ERROR_INVALID_VALUE : real(device, pool);
}

// Other processes of the container may use at once what this releases.
CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t bytes_to_keep) {
    const Entered real(&Driver::cuMemPoolTrimTo);
    if (!real.must_enforce()) return real(pool, bytes_to_keep);
    if (is_ending(pool)) return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = real(pool, bytes_to_keep);
    look_at_pools();
    return result;
}
