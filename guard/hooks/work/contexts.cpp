// Contexts: each takes memory itself, and releases everything that was allocated in it when it
// ends. Only one context begins or ends at a time, because the driver may give a new one the handle
// of one that has ended.
#include "guard/base/locked.hpp"
#include "guard/base/measured.hpp"
#include "guard/compute/measure/stream_ends.hpp"
#include "guard/compute/streams.hpp"
#include "guard/hooks/enter.hpp"
#include "guard/hooks/work/multiprocessors.hpp"
#include "guard/inject/nvml.hpp"
#include "guard/process/charges.hpp"
#include "guard/process/context_cost.hpp"
#include "guard/process/context_limits.hpp"
#include "guard/process/first_cost.hpp"

using namespace tessera::guard;  // the hooks are extern "C", outside the namespace

namespace {

std::uint64_t address_of(CUcontext context) {
    return reinterpret_cast<std::uint64_t>(context);
}

// `make` makes the driver create a context, which takes memory of the GPU; `undo` destroys it
// again. The cost of the container's first context of this kind is reserved before, and then
// corrected to the actual one. How much of the GPU its process has is known only afterwards.
template <typename Make, typename Undo>
CUresult make_on(ContextOf of, CUcontext* context, const Make& make, const Undo& undo) {
    const FirstCost first(of);
    const int gpu = of.gpu;
    std::uint64_t bytes = context_bytes(gpu, of.kind);
    if (const CUresult over = reserve(gpu, bytes); over != CUDA_SUCCESS) return over;
    std::uint64_t taken = bytes;
    CUresult result = make_measured(of, make, undo, taken);
    if (result == CUDA_SUCCESS) {
        result = check_multiprocessors(gpu);
        if (result == CUDA_SUCCESS) result = correct(gpu, bytes, taken);
        if (result == CUDA_SUCCESS) {
            if (record(holding_at(address_of(*context), *context, taken, gpu))) return result;
            bytes = taken;
            result = CUDA_ERROR_OUT_OF_MEMORY;
        }
        undo();
    }
    release(gpu, bytes);
    return result;
}

// The cost of a context is read under the mutex of contexts. No thread may hold that mutex while it
// calls the loader, because a library that is being loaded may create a context itself.
void load_what_measures() {
    nvml();
}

template <typename Make>
CUresult create_on(CUdevice device, CUcontext* context, int kind, const Make& make) {
    load_what_measures();
    const Locked lock(contexts().mutex);
    forget_last_used();  // the new one is current
    const int gpu = gpu_of(device);
    const auto undo = [context] { driver()->cuCtxDestroy_v2(*context); };
    if (context != nullptr && gpu >= 0) return make_on({gpu, kind}, context, make, undo);
    // The driver reports what is wrong. If nothing is, the container has no share of the GPU.
    const CUresult result = make();
    if (result != CUDA_SUCCESS || context == nullptr) return result;
    undo();
    return refuse_gpu_of_others(device);
}

template <typename Function>
CUresult create_by_flags(Function Driver::* slot, CUcontext* context, unsigned flags,
                         CUdevice device) {
    const Entered real(slot);
    if (!real.must_enforce()) return real(context, flags, device);
    return create_on(device, context, context_kind_of(flags, false),
                     [&] { return real(context, flags, device); });
}

// `end` makes the driver end the context, and returns whether it has ended. The driver waits there
// for the context's work, which counts until then.
template <typename End>
bool end_context(CUcontext context, const End& end) {
    ignore_streams_of(context);
    const bool has_ended = end();
    if (has_ended) {
        forget_streams_of(context);
        release_all_of(context);
    } else {
        ignore_streams_of(nullptr);
    }
    return has_ended;
}

template <typename Function>
CUresult destroy(Function Driver::* slot, CUcontext context) {
    const Entered real(slot);
    if (!real.must_enforce()) return real(context);
    const Locked lock(contexts().mutex);
    forget_last_used();
    CUresult result = CUDA_SUCCESS;
    end_context(context, [&] {
        result = real(context);
        return result == CUDA_SUCCESS;
    });
    if (result == CUDA_SUCCESS) contexts().attached.take(address_of(context));
    return result;
}

struct PrimaryState {
    unsigned flags = 0;
    int active = 0;
};
PrimaryState state_of_primary(CUdevice device) {
    PrimaryState state;
    const auto& ask = driver()->cuDevicePrimaryCtxGetState;
    if (!ask || ask(device, &state.flags, &state.active) != CUDA_SUCCESS) return {};
    return state;
}

// Drivers before CUDA 11 have only the second function.
void release_primary(CUdevice device) {
    const auto& release = driver()->cuDevicePrimaryCtxRelease_v2;
    const auto& before = driver()->cuDevicePrimaryCtxRelease;
    if (release || before) (release ? release : before)(device);
}

// Memory that green contexts of the device allocated belonged to its primary context, which has
// ended.
void release_all_of_greens(CUdevice device) {
    std::uint64_t place = 0;
    for (;;) {
        const GreenContext gone = contexts().greens.take_next(
            place, [device](const GreenContext& each) { return each.device == device; });
        if (gone.context == nullptr) return;
        forget_streams_of(gone.context);
        release_all_of(gone.context);
    }
}

// `end` ends the device's primary context, or one use of it. Requires the mutex of contexts.
template <typename End>
CUresult end_primary(CUdevice device, const End& end) {
    if (device < 0 || device >= kMaxDevices) return end();
    CUcontext& primary = contexts().primary[device];
    CUresult result = CUDA_SUCCESS;
    const bool has_ended = end_context(primary, [&] {
        result = end();
        return primary != nullptr && state_of_primary(device).active == 0;
    });
    if (!has_ended) return result;
    primary = nullptr;
    release_all_of_greens(device);
    return result;
}

template <typename Function>
CUresult release_or_reset(Function Driver::* slot, CUdevice device) {
    const Entered real(slot);
    if (!real.must_enforce()) return real(device);
    const Locked lock(contexts().mutex);
    return end_primary(device, [&] { return real(device); });
}

// Adds a use of the device's primary context, and creates the context if there is none. Requires
// the mutex of contexts.
template <typename Retain>
CUresult retain_primary(CUdevice device, int gpu, CUcontext* context, const Retain& retain) {
    const PrimaryState state = state_of_primary(device);
    if (state.active != 0) return retain();
    const int kind = context_kind_of(state.flags, false);
    const auto release = [device] { release_primary(device); };
    const CUresult result = make_on({gpu, kind}, context, retain, release);
    if (result == CUDA_SUCCESS) contexts().primary[device] = *context;
    return result;
}

// Makes the driver create a green context, and charges what the GPU has less afterwards. Its
// primary context already exists. A neighbour may take memory at that moment: so if the difference
// is large, the smaller of two readings counts.
template <typename Make>
CUresult make_green(const Make& make, CUgreenCtx* green, const Current& primary) {
    const int gpu = primary.gpu;
    const auto undo = [green] { driver()->cuGreenCtxDestroy(*green); };
    std::uint64_t taken = 0;
    for (int tried = 0; tried < 2; tried++) {
        const ContextCost cost(gpu);
        const CUresult result = make();
        if (result != CUDA_SUCCESS) return result;
        const std::uint64_t bytes = cost.taken().bytes;
        taken = tried == 0 || bytes < taken ? bytes : taken;
        if (tried == 1 || taken <= kLargeDifference) break;
        undo();
    }
    CUresult result = reserve(gpu, taken);
    if (result == CUDA_SUCCESS) {
        const auto address = reinterpret_cast<std::uint64_t>(*green);
        if (record(holding_at(address, primary.context, taken, gpu))) return result;
        release(gpu, taken);
        result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    undo();
    return result;
}

CUcontext context_of(CUgreenCtx green) {
    CUcontext context = nullptr;
    const auto& ask = driver()->cuCtxFromGreenCtx;
    return ask && ask(&context, green) == CUDA_SUCCESS ? context : nullptr;
}

// The thread's default streams belong to its context.
template <typename Function, typename Context>
CUresult change_context(Function Driver::* slot, Context context) {
    const Entered real(slot);
    forget_last_used();
    return real(context);
}

}  // namespace

CUresult cuCtxCreate(CUcontext* context, unsigned int flags, CUdevice device) {
    return create_by_flags(&Driver::cuCtxCreate, context, flags, device);
}

CUresult cuCtxCreate_v2(CUcontext* context, unsigned int flags, CUdevice device) {
    return create_by_flags(&Driver::cuCtxCreate_v2, context, flags, device);
}

CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam* affinity, int affinity_count,
                        unsigned int flags, CUdevice device) {
    const Entered real(&Driver::cuCtxCreate_v3);
    if (!real.must_enforce()) return real(context, affinity, affinity_count, flags, device);
    return create_on(device, context, context_kind_of(flags, affinity_count != 0),
                     [&] { return real(context, affinity, affinity_count, flags, device); });
}

CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* params, unsigned int flags,
                        CUdevice device) {
    const Entered real(&Driver::cuCtxCreate_v4);
    if (!real.must_enforce()) return real(context, params, flags, device);
    return create_on(device, context, context_kind_of(flags, params != nullptr),
                     [&] { return real(context, params, flags, device); });
}

CUresult cuCtxDestroy(CUcontext context) {
    return destroy(&Driver::cuCtxDestroy, context);
}

CUresult cuCtxDestroy_v2(CUcontext context) {
    return destroy(&Driver::cuCtxDestroy_v2, context);
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
    const Entered real(&Driver::cuCtxSetLimit);
    if (!real.must_enforce()) return real(limit, value);
    const Locked lock(contexts().mutex);
    return set_limit(limit, value, [&] { return real(limit, value); });
}

// Counts how many calls of cuCtxDetach the context needs in addition to the one for its creation.
CUresult cuCtxAttach(CUcontext* context, unsigned int flags) {
    const Entered real(&Driver::cuCtxAttach);
    if (!real.must_enforce() || context == nullptr) return real(context, flags);
    const Locked lock(contexts().mutex);
    const CUresult result = real(context, flags);
    if (result != CUDA_SUCCESS) return result;
    AttachedContext* known = contexts().attached.find(address_of(*context));
    if (known != nullptr) known->attached++;
    if (known != nullptr || contexts().attached.add({*context, 1})) return result;
    driver()->cuCtxDetach(*context);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuCtxDetach(CUcontext context) {
    const Entered real(&Driver::cuCtxDetach);
    if (!real.must_enforce()) return real(context);
    const Locked lock(contexts().mutex);
    forget_last_used();
    AttachedContext* attached = contexts().attached.find(address_of(context));
    if (attached != nullptr && attached->attached > 0) {
        const CUresult result = real(context);
        if (result == CUDA_SUCCESS && --attached->attached == 0)
            contexts().attached.take(address_of(context));
        return result;
    }
    CUresult result = CUDA_SUCCESS;
    end_context(context, [&] {
        result = real(context);
        return result == CUDA_SUCCESS;
    });
    return result;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    const Entered real(&Driver::cuDevicePrimaryCtxRetain);
    if (!real.must_enforce()) return real(context, device);
    load_what_measures();
    const Locked lock(contexts().mutex);
    const int gpu = gpu_of(device);
    const auto retain = [&] { return real(context, device); };
    if (context != nullptr && gpu >= 0) return retain_primary(device, gpu, context, retain);
    const CUresult result = retain();
    if (result != CUDA_SUCCESS) return result;
    release_primary(device);
    return gpu < 0 ? refuse_gpu_of_others(device) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
    return release_or_reset(&Driver::cuDevicePrimaryCtxRelease, device);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    return release_or_reset(&Driver::cuDevicePrimaryCtxRelease_v2, device);
}

CUresult cuDevicePrimaryCtxReset(CUdevice device) {
    return release_or_reset(&Driver::cuDevicePrimaryCtxReset, device);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    return release_or_reset(&Driver::cuDevicePrimaryCtxReset_v2, device);
}

// A green context uses the device's primary context. If there is none, the guard creates it first,
// so that each is charged separately. Afterwards only the green context uses it.
CUresult cuGreenCtxCreate(CUgreenCtx* green, CUdevResourceDesc description, CUdevice device,
                          unsigned int flags) {
    const Entered real(&Driver::cuGreenCtxCreate);
    const auto make = [&] { return real(green, description, device, flags); };
    if (!real.must_enforce() || green == nullptr) return make();
    load_what_measures();
    const Locked lock(contexts().mutex);
    const int gpu = gpu_of(device);
    const auto& retain = driver()->cuDevicePrimaryCtxRetain;
    if (gpu < 0 || !retain) {
        const CUresult result = make();
        if (result != CUDA_SUCCESS) return result;
        driver()->cuGreenCtxDestroy(*green);
        return refuse_gpu_of_others(device);
    }
    CUcontext primary = nullptr;
    CUresult result =
        retain_primary(device, gpu, &primary, [&] { return retain(&primary, device); });
    if (result != CUDA_SUCCESS) return result;
    result = make_green(make, green, {primary, gpu});
    if (result == CUDA_SUCCESS) {
        const CUcontext context = context_of(*green);
        if (context != nullptr) contexts().greens.add({context, device});
    }
    end_primary(device, [device] {
        release_primary(device);
        return CUDA_SUCCESS;
    });
    return result;
}

CUresult cuGreenCtxDestroy(CUgreenCtx green) {
    const Entered real(&Driver::cuGreenCtxDestroy);
    if (!real.must_enforce()) return real(green);
    const Locked lock(contexts().mutex);
    forget_last_used();
    const Holding held = take_record(reinterpret_cast<std::uint64_t>(green));
    if (held.address == 0) return real(green);
    const CUcontext context = context_of(green);
    ignore_streams_of(context);
    CUresult result = CUDA_SUCCESS;
    end_primary(device_of(held.gpu), [&] {
        result = real(green);
        return result;
    });
    if (result != CUDA_SUCCESS) {
        record(held);  // there is room: it has just been removed
        ignore_streams_of(nullptr);
        return result;
    }
    if (context != nullptr) {
        forget_streams_of(context);
        // If the primary context has ended with it, nothing is left to pass on.
        const CUdevice device = device_of(held.gpu);
        if (contexts().greens.take(address_of(context)).context != nullptr)
            pass_on_all_of(context, contexts().primary[device]);
    }
    release(held);
    return result;
}

CUresult cuCtxSetCurrent(CUcontext context) {
    return change_context(&Driver::cuCtxSetCurrent, context);
}

CUresult cuCtxPushCurrent(CUcontext context) {
    return change_context(&Driver::cuCtxPushCurrent, context);
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
    return change_context(&Driver::cuCtxPushCurrent_v2, context);
}

CUresult cuCtxPopCurrent(CUcontext* context) {
    return change_context(&Driver::cuCtxPopCurrent, context);
}

CUresult cuCtxPopCurrent_v2(CUcontext* context) {
    return change_context(&Driver::cuCtxPopCurrent_v2, context);
}
