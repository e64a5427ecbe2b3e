// cuCtx* and cuDevicePrimaryCtx*: contexts, and the stack of current ones that each thread has.
#include <cstdlib>

#include "gpusim/cuda/driver/accounts.hpp"
#include "gpusim/cuda/driver/context_limits.hpp"
#include "gpusim/cuda/driver/driver.hpp"
#include "gpusim/cuda/driver/green_contexts.hpp"
#include "gpusim/cuda/graphs/graph_memory.hpp"
#include "gpusim/cuda/memory/address_book.hpp"
#include "gpusim/cuda/pools/pools.hpp"
#include "gpusim/cuda/work/module.hpp"
#include "gpusim/cuda/work/work.hpp"

using gpusim::Context;
using gpusim::driver;
using gpusim::PrimaryContext;
using gpusim::Session;

namespace {

constexpr int kMaxDepth = 32;

struct ContextStack {
    int depth;
    Context* items[kMaxDepth];
};

// initial-exec: the other models call into the dynamic linker's own library, a second dependency.
thread_local constinit ContextStack stack __attribute__((tls_model("initial-exec"))) = {};

CUcontext handle_of(Context* context) {
    return reinterpret_cast<CUcontext>(context);
}

// The context behind a handle; null if the handle is invalid or the context is dead.
Context* find_context(CUcontext handle) {
    for (int i = 0; i < driver.devices.count; i++) {
        Context* context = &driver.primary[i].context;
        if (handle_of(context) == handle) return context->alive ? context : nullptr;
    }
    for (Context* context = driver.contexts; context != nullptr; context = context->next) {
        if (handle_of(context) == handle) return context->alive ? context : nullptr;
    }
    return nullptr;
}

CUresult push(Context* context) {
    if (stack.depth == kMaxDepth) return CUDA_ERROR_OUT_OF_MEMORY;
    stack.items[stack.depth++] = context;
    return CUDA_SUCCESS;
}

// What a green context takes itself: a guess.
std::uint64_t green_bytes(const Context& context) {
    const std::uint64_t part = gpusim::gpu_of(context).context_overhead_bytes / 8;
    return (part + gpusim::kAllocationUnitBytes - 1) / gpusim::kAllocationUnitBytes *
           gpusim::kAllocationUnitBytes;
}

CUresult bring_up(Context& context) {
    if (driver.mps.error != CUDA_SUCCESS) return driver.mps.error;
    if (gpusim::is_lost(context.gpu)) return CUDA_ERROR_DEVICE_UNAVAILABLE;
    const CUresult charged =
        gpusim::charge(context.gpu, gpusim::gpu_of(context).context_overhead_bytes, 1);
    if (charged != CUDA_SUCCESS) return charged;
    context.alive = true;
    gpusim::report_context_made(context);
    return CUDA_SUCCESS;
}

// Green contexts have no memory of their own to release.
void end_green(Context& green) {
    gpusim::end_work(green);
    gpusim::discharge(green.gpu, green_bytes(green), 0);
    green.alive = false;
}

void end_greens_of(const Context& primary) {
    for (Context* each = driver.contexts; each != nullptr; each = each->next)
        if (each->alive && each->home == &primary) end_green(*each);
}

void bring_down(Context& context) {
    end_greens_of(context);
    gpusim::end_work(context);
    gpusim::unload_all(context);
    gpusim::release_ranges(context);
    gpusim::end_graph_memory(context);
    gpusim::reset_limits(context);
    gpusim::release_idle_memory();
    gpusim::discharge(context.gpu, gpusim::gpu_of(context).context_overhead_bytes, 1);
    gpusim::report_context_ended(context);
    context.alive = false;
    context.error = CUDA_SUCCESS;
}

bool are_flags(unsigned flags) {
    return (flags & ~unsigned{CU_CTX_FLAGS_MASK}) == 0;
}

// Returns an empty context: if a green context has ended, in its place. Drivers use handles again,
// and code that records handles must not take the new context for the old one.
Context* allocate_context() {
    for (Context** link = &driver.contexts; *link != nullptr; link = &(*link)->next) {
        Context* dead = *link;
        if (dead->alive || dead->home == nullptr) continue;
        *link = dead->next;
        *dead = {};
        return dead;
    }
    return static_cast<Context*>(std::calloc(1, sizeof(Context)));
}

CUresult create(CUcontext* handle, unsigned flags, CUdevice device, unsigned api_version) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (handle == nullptr || !are_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
    if (!gpusim::is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    if (stack.depth == kMaxDepth) return CUDA_ERROR_OUT_OF_MEMORY;
    Context* context = allocate_context();
    if (context == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    context->device = device;
    context->gpu = driver.devices.gpus[device];
    context->flags = flags;
    context->api_version = api_version;
    context->uses = 1;
    if (const CUresult error = bring_up(*context); error != CUDA_SUCCESS) {
        std::free(context);
        return error;
    }
    context->next = driver.contexts;
    driver.contexts = context;
    *handle = handle_of(context);
    return push(context);
}

// A context that cuCtxCreate made; null for a primary or a green one.
Context* find_made(CUcontext handle) {
    Context* context = find_context(handle);
    if (context == nullptr || context->home != nullptr) return nullptr;
    return context == &driver.primary[context->device].context ? nullptr : context;
}

CUresult retain_primary(CUdevice device) {
    PrimaryContext& primary = driver.primary[device];
    if (!primary.context.alive) {
        primary.context.api_version = 3020;
        if (const CUresult error = bring_up(primary.context); error != CUDA_SUCCESS) return error;
    }
    primary.retained++;
    return CUDA_SUCCESS;
}

CUresult release_primary(CUdevice device) {
    PrimaryContext& primary = driver.primary[device];
    if (primary.retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
    primary.retained--;
    if (primary.retained == 0 && primary.context.alive) bring_down(primary.context);
    return CUDA_SUCCESS;
}

Context* find_green(CUgreenCtx handle) {
    Context* context = find_context(reinterpret_cast<CUcontext>(handle));
    return context != nullptr && context->home != nullptr ? context : nullptr;
}

CUresult destroy(CUcontext handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Context* context = find_made(handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    bring_down(*context);
    if (stack.depth > 0 && stack.items[stack.depth - 1] == context) stack.depth--;
    return CUDA_SUCCESS;
}

}  // namespace

namespace gpusim {

CUresult current_context(Context** context) {
    if (stack.depth == 0) return CUDA_ERROR_INVALID_CONTEXT;
    *context = stack.items[stack.depth - 1];
    if (!(*context)->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return is_lost((*context)->gpu) ? CUDA_ERROR_UNKNOWN : (*context)->error;
}

CUresult make_green(CUdevice device, CUgreenCtx* green) {
    // The primary context may live on after the end of its client.
    if (driver.mps.error != CUDA_SUCCESS) return driver.mps.error;
    auto* context = static_cast<Context*>(std::calloc(1, sizeof(Context)));
    if (context == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    context->device = device;
    context->gpu = driver.devices.gpus[device];
    context->api_version = 3020;
    context->home = &driver.primary[device].context;
    CUresult result = retain_primary(device);
    if (result == CUDA_SUCCESS) {
        result = charge(context->gpu, green_bytes(*context), 0);
        if (result != CUDA_SUCCESS) release_primary(device);
    }
    if (result != CUDA_SUCCESS) {
        std::free(context);
        return result;
    }
    context->alive = true;
    context->next = driver.contexts;
    driver.contexts = context;
    *green = reinterpret_cast<CUgreenCtx>(context);
    return CUDA_SUCCESS;
}

CUresult destroy_green(CUgreenCtx handle) {
    Context* green = find_green(handle);
    if (green == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    end_green(*green);
    return release_primary(green->device);
}

CUresult context_of_green(CUgreenCtx green, CUcontext* context) {
    Context* found = find_green(green);
    if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    *context = reinterpret_cast<CUcontext>(found);
    return CUDA_SUCCESS;
}

}  // namespace gpusim

CUresult cuCtxCreate_v2(CUcontext* context, unsigned int flags, CUdevice device) {
    return create(context, flags, device, 3020);
}

CUresult cuCtxCreate(CUcontext* context, unsigned int flags, CUdevice device) {
    return create(context, flags, device, 3010);
}

CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam* affinity, int affinity_count,
                        unsigned int flags, CUdevice device) {
    if (affinity != nullptr || affinity_count != 0) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    return create(context, flags, device, 3020);
}

CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* params, unsigned int flags,
                        CUdevice device) {
    if (params != nullptr && params->execAffinityParams != nullptr) {
        return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    }
    if (params != nullptr && params->cigParams != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
    return create(context, flags, device, 3020);
}

CUresult cuCtxDestroy_v2(CUcontext context) {
    return destroy(context);
}

CUresult cuCtxDestroy(CUcontext handle) {
    return destroy(handle);
}

CUresult cuCtxAttach(CUcontext* handle, unsigned int flags) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (handle == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    Context* context = nullptr;
    if (const CUresult error = gpusim::current_context(&context); error != CUDA_SUCCESS) {
        return error;
    }
    if (find_made(handle_of(context)) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    context->uses++;
    *handle = handle_of(context);
    return CUDA_SUCCESS;
}

CUresult cuCtxDetach(CUcontext handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Context* context = find_made(handle);
    const bool is_current = stack.depth > 0 && stack.items[stack.depth - 1] == context;
    if (context == nullptr || !is_current) return CUDA_ERROR_INVALID_CONTEXT;
    if (--context->uses > 0) return CUDA_SUCCESS;
    bring_down(*context);
    stack.depth--;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (handle == nullptr) {
        if (stack.depth > 0) stack.depth--;
        return CUDA_SUCCESS;
    }
    Context* context = find_context(handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (stack.depth == 0) return push(context);
    stack.items[stack.depth - 1] = context;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *handle = stack.depth > 0 ? handle_of(stack.items[stack.depth - 1]) : nullptr;
    return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Context* context = find_context(handle);
    return context != nullptr ? push(context) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxPopCurrent_v2(CUcontext* handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (stack.depth == 0) return CUDA_ERROR_INVALID_CONTEXT;
    Context* popped = stack.items[--stack.depth];
    if (handle != nullptr) *handle = handle_of(popped);
    return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext handle) {
    return cuCtxPushCurrent_v2(handle);
}

CUresult cuCtxPopCurrent(CUcontext* handle) {
    return cuCtxPopCurrent_v2(handle);
}

CUresult cuCtxGetDevice(CUdevice* device) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (stack.depth == 0) return CUDA_ERROR_INVALID_CONTEXT;
    *device = stack.items[stack.depth - 1]->device;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned int* flags) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (stack.depth == 0) return CUDA_ERROR_INVALID_CONTEXT;
    *flags = stack.items[stack.depth - 1]->flags;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned int* version) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const bool wants_current = handle == nullptr && stack.depth > 0;
    const Context* context = wants_current ? stack.items[stack.depth - 1] : find_context(handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    *version = context->api_version;
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize() {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Context* context = nullptr;
    if (const CUresult error = gpusim::current_context(&context); error != CUDA_SUCCESS) {
        return error;
    }
    gpusim::wait_for(*context);
    gpusim::release_idle_memory();
    return gpusim::current_context(&context);
}

// Of CUDA 13: for any context, also one that is not current.
CUresult cuCtxSynchronize_v2(CUcontext handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Context* context = find_context(handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (context->error != CUDA_SUCCESS) return context->error;
    gpusim::wait_for(*context);
    gpusim::release_idle_memory();
    return context->error;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* handle, CUdevice device) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!gpusim::is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    if (const CUresult error = retain_primary(device); error != CUDA_SUCCESS) return error;
    *handle = handle_of(&driver.primary[device].context);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (!gpusim::is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    return release_primary(device);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
    return cuDevicePrimaryCtxRelease_v2(device);
}

// The program still has to release what it retained, so the count stays.
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (!gpusim::is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    Context& context = driver.primary[device].context;
    if (context.alive) bring_down(context);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset(CUdevice device) {
    return cuDevicePrimaryCtxReset_v2(device);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (!gpusim::is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    if (!are_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
    driver.primary[device].context.flags = flags;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags) {
    int active = 0;
    unsigned ignored = 0;
    const CUresult error = cuDevicePrimaryCtxGetState(device, &ignored, &active);
    if (error != CUDA_SUCCESS) return error;
    if (active != 0) return CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE;
    return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!gpusim::is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    *flags = driver.primary[device].context.flags;
    *active = driver.primary[device].context.alive ? 1 : 0;
    return CUDA_SUCCESS;
}
