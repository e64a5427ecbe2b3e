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
#include "guard/process/measured.hpp"

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

// The second is of CUDA 11.
void release_primary(CUdevice device) {
    const auto& release = driver()->cuDevicePrimaryCtxRelease_v2;
    const auto& before = driver()->cuDevicePrimaryCtxRelease;
    if (release || before) (release ? release : before)(device);
}

// What green contexts of the device allocated was its primary context's, which has ended.
void put_back_all_of_greens(CUdevice device) {
    std::uint64_t place = 0;
    for (;;) {
        const GreenContext gone = contexts().greens.take_next(
            place, [device](const GreenContext& each) { return each.device == device; });
        if (gone.context == nullptr) return;
        forget_streams_of(gone.context);
        put_back_all_of(gone.context);
    }
}

// `end` ends the device's primary context, or one use of it. Wants the mutex of contexts.
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
    put_back_all_of_greens(device);
    return result;
}

template <typename Function>
CUresult release_or_reset(Function Driver::* slot, CUdevice device) {
    const Entered real(slot);
    if (!real.is_held()) return real(device);
    const Locked lock(contexts().mutex);
    return end_primary(device, [&] { return real(device); });
}

// One use more of the device's primary context, which is made by it where there is none. Wants the
// mutex of contexts.
template <typename Retain>
CUresult retain_primary(CUdevice device, int card, CUcontext* context, const Retain& retain) {
    const PrimaryState state = state_of_primary(device);
    if (state.active != 0) return retain();
    const int kind = context_kind_of(state.flags, false);
    const auto release = [device] { release_primary(device); };
    const CUresult result = make_on({card, kind}, context, retain, release);
    if (result == CUDA_SUCCESS) contexts().primary[device] = *context;
    return result;
}

// Has the driver make a green context, and counts what the card has less by it alone: its primary
// context is there. A neighbour may take memory at that moment: where it is much, the smaller of
// two readings counts.
template <typename Make>
CUresult make_green(const Make& make, CUgreenCtx* green, const Current& primary) {
    const int card = primary.card;
    const auto undo = [green] { driver()->cuGreenCtxDestroy(*green); };
    std::uint64_t taken = 0;
    for (int tried = 0; tried < 2; tried++) {
        const ContextCost cost(card);
        const CUresult result = make();
        if (result != CUDA_SUCCESS) return result;
        const std::uint64_t bytes = cost.taken().bytes;
        taken = tried == 0 || bytes < taken ? bytes : taken;
        if (tried == 1 || taken <= kLargeDifference) break;
        undo();
    }
    CUresult result = set_aside(card, taken);
    if (result == CUDA_SUCCESS) {
        const auto address = reinterpret_cast<std::uint64_t>(*green);
        if (note(holding_at(address, primary.context, taken, card))) return result;
        put_back(card, taken);
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

// Counts how often it has to be detached beside the once for its making.
CUresult cuCtxAttach(CUcontext* context, unsigned int flags) {
    const Entered real(&Driver::cuCtxAttach);
    if (!real.is_held() || context == nullptr) return real(context, flags);
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
    if (!real.is_held()) return real(context);
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
    if (!real.is_held()) return real(context, device);
    load_what_measures();
    const Locked lock(contexts().mutex);
    const int card = card_of(device);
    const auto retain = [&] { return real(context, device); };
    if (context != nullptr && card >= 0) return retain_primary(device, card, context, retain);
    const CUresult result = retain();
    if (result != CUDA_SUCCESS) return result;
    release_primary(device);
    return card < 0 ? refuse_card_of_others(device) : CUDA_ERROR_INVALID_VALUE;
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

// It has a use of the device's primary context. That is made before where there is none, so that
// each counts for itself; and its use is the green context's alone afterwards.
CUresult cuGreenCtxCreate(CUgreenCtx* green, CUdevResourceDesc description, CUdevice device,
                          unsigned int flags) {
    const Entered real(&Driver::cuGreenCtxCreate);
    const auto make = [&] { return real(green, description, device, flags); };
    if (!real.is_held() || green == nullptr) return make();
    load_what_measures();
    const Locked lock(contexts().mutex);
    const int card = card_of(device);
    const auto& retain = driver()->cuDevicePrimaryCtxRetain;
    if (card < 0 || !retain) {
        const CUresult result = make();
        if (result != CUDA_SUCCESS) return result;
        driver()->cuGreenCtxDestroy(*green);
        return refuse_card_of_others(device);
    }
    CUcontext primary = nullptr;
    CUresult result =
        retain_primary(device, card, &primary, [&] { return retain(&primary, device); });
    if (result != CUDA_SUCCESS) return result;
    result = make_green(make, green, {primary, card});
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
    if (!real.is_held()) return real(green);
    const Locked lock(contexts().mutex);
    forget_last_used();
    const Holding held = take_note(reinterpret_cast<std::uint64_t>(green));
    if (held.address == 0) return real(green);
    const CUcontext context = context_of(green);
    ignore_streams_of(context);
    CUresult result = CUDA_SUCCESS;
    end_primary(device_of(held.card), [&] {
        result = real(green);
        return result;
    });
    if (result != CUDA_SUCCESS) {
        note(held);  // there is room: it has just been taken out
        ignore_streams_of(nullptr);
        return result;
    }
    if (context != nullptr) {
        forget_streams_of(context);
        // Where the primary context has ended with it, nothing is left to pass on.
        const CUdevice device = device_of(held.card);
        if (contexts().greens.take(address_of(context)).context != nullptr)
            pass_on_all_of(context, contexts().primary[device]);
    }
    put_back(held);
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
