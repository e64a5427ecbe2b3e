// Contexts: each takes memory by itself, and gives back all that was allocated in it when it ends.
// One at a time begins or ends, for the driver may give a new one the handle of one that has ended.
#include "guard/compute/stream_ends.hpp"
#include "guard/compute/streams.hpp"
#include "guard/hooks/enter.hpp"
#include "guard/inject/nvml.hpp"
#include "guard/process/charges.hpp"
#include "guard/process/context_cost.hpp"
#include "guard/process/context_limits.hpp"
#include "guard/process/first_cost.hpp"
#include "guard/process/locked.hpp"

using namespace tessera::guard;  // the hooks are extern "C" and stand outside

namespace {

std::uint64_t address_of(CUcontext context) {
    return reinterpret_cast<std::uint64_t>(context);
}

// `make` has the driver make a context, which takes memory of the card; `undo` ends it again. What
// the container's first of its kind took is set aside before, and corrected to what this one does.
template <typename Make, typename Undo>
CUresult make_on(ContextOf of, CUcontext* context, const Make& make, const Undo& undo) {
    const FirstCost first(of);
    const int card = of.card;
    std::uint64_t bytes = context_bytes(card, of.kind);
    if (const CUresult over = set_aside(card, bytes); over != CUDA_SUCCESS) return over;
    std::uint64_t taken = bytes;
    CUresult result = make_measured(of, make, undo, taken);
    if (result == CUDA_SUCCESS) {
        result = correct(card, bytes, taken);
        if (result == CUDA_SUCCESS) {
            if (note(holding_at(address_of(*context), *context, taken, card))) return result;
            bytes = taken;
            result = CUDA_ERROR_OUT_OF_MEMORY;
        }
        undo();
    }
    put_back(card, bytes);
    return result;
}

// What a context took is asked for under the mutex of contexts, which no thread may have while it
// calls the loader: a library that is being loaded may make a context of its own.
void load_what_measures() {
    nvml();
}

template <typename Make>
CUresult create_on(CUdevice device, CUcontext* context, int kind, const Make& make) {
    load_what_measures();
    const Locked lock(contexts().mutex);
    forget_last_used();  // the new one is current
    const int card = card_of(device);
    const auto undo = [context] { driver()->cuCtxDestroy_v2(*context); };
    if (context != nullptr && card >= 0) return make_on({card, kind}, context, make, undo);
    // The driver says what is wrong. If nothing is, it is a card of others.
    const CUresult result = make();
    if (result != CUDA_SUCCESS || context == nullptr) return result;
    undo();
    return refuse_card_of_others(device);
}

template <typename Function>
CUresult create_by_flags(Function Driver::* slot, CUcontext* context, unsigned flags,
                         CUdevice device) {
    const Entered real(slot);
    if (!real.is_held()) return real(context, flags, device);
    return create_on(device, context, context_kind_of(flags, false),
                     [&] { return real(context, flags, device); });
}

// `end` has the driver end the context, if it does, and says whether it has. The driver waits there
// for the context's work, which counts until then.
template <typename End>
bool end_context(CUcontext context, const End& end) {
    ignore_streams_of(context);
    const bool has_ended = end();
    if (has_ended) {
        forget_streams_of(context);
        put_back_all_of(context);
    } else {
        ignore_streams_of(nullptr);
    }
    return has_ended;
}

template <typename Function>
CUresult destroy(Function Driver::* slot, CUcontext context) {
    const Entered real(slot);
    if (!real.is_held()) return real(context);
    const Locked lock(contexts().mutex);
    forget_last_used();
    CUresult result = CUDA_SUCCESS;
    end_context(context, [&] {
        result = real(context);
        return result == CUDA_SUCCESS;
    });
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

// The second is of CUDA 11.
void release_primary(CUdevice device) {
    const auto& release = driver()->cuDevicePrimaryCtxRelease_v2;
    const auto& before = driver()->cuDevicePrimaryCtxRelease;
    if (release || before) (release ? release : before)(device);
}

// `end` ends the device's primary context, or one use of it.
template <typename End>
CUresult end_primary(CUdevice device, const End& end) {
    const Locked lock(contexts().mutex);
    if (device < 0 || device >= kMaxDevices) return end();
    CUcontext& primary = contexts().primary[device];
    CUresult result = CUDA_SUCCESS;
    const bool has_ended = end_context(primary, [&] {
        result = end();
        return primary != nullptr && state_of_primary(device).active == 0;
    });
    if (has_ended) primary = nullptr;
    return result;
}

// The thread's default streams are those of its context.
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
    if (!real.is_held()) return real(context, affinity, affinity_count, flags, device);
    return create_on(device, context, context_kind_of(flags, affinity_count != 0),
                     [&] { return real(context, affinity, affinity_count, flags, device); });
}

CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* params, unsigned int flags,
                        CUdevice device) {
    const Entered real(&Driver::cuCtxCreate_v4);
    if (!real.is_held()) return real(context, params, flags, device);
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
    if (!real.is_held()) return real(limit, value);
    const Locked lock(contexts().mutex);
    return set_limit(limit, value, [&] { return real(limit, value); });
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    const Entered real(&Driver::cuDevicePrimaryCtxRetain);
    if (!real.is_held()) return real(context, device);
    load_what_measures();
    const Locked lock(contexts().mutex);
    const int card = card_of(device);
    const auto retain = [&] { return real(context, device); };
    const auto release = [device] { release_primary(device); };
    if (context == nullptr || card < 0) {
        const CUresult result = retain();
        if (result != CUDA_SUCCESS) return result;
        release();
        return card < 0 ? refuse_card_of_others(device) : CUDA_ERROR_INVALID_VALUE;
    }
    const PrimaryState state = state_of_primary(device);
    if (state.active != 0) return retain();
    const int kind = context_kind_of(state.flags, false);
    const CUresult result = make_on({card, kind}, context, retain, release);
    if (result == CUDA_SUCCESS) contexts().primary[device] = *context;
    return result;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
    const Entered real(&Driver::cuDevicePrimaryCtxRelease);
    if (!real.is_held()) return real(device);
    return end_primary(device, [&] { return real(device); });
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    const Entered real(&Driver::cuDevicePrimaryCtxRelease_v2);
    if (!real.is_held()) return real(device);
    return end_primary(device, [&] { return real(device); });
}

CUresult cuDevicePrimaryCtxReset(CUdevice device) {
    const Entered real(&Driver::cuDevicePrimaryCtxReset);
    if (!real.is_held()) return real(device);
    return end_primary(device, [&] { return real(device); });
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    const Entered real(&Driver::cuDevicePrimaryCtxReset_v2);
    if (!real.is_held()) return real(device);
    return end_primary(device, [&] { return real(device); });
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
