// Kernels: they are launched when the container has a launch permit. What the driver takes for the
// first launch of a function is charged (process/driver_memory.hpp).
#include "guard/hooks/work/work.hpp"
#include "guard/process/driver_memory.hpp"

using namespace tessera::guard;  // the hooks are extern "C", outside the namespace

namespace {

// Separate from the path of all other launches, so that it does not slow them down.
template <typename Function, typename... Arguments>
[[gnu::noinline, gnu::cold]] CUresult launch_first(CUfunction function, Function Driver::* slot,
                                                   CUstream stream, Arguments... arguments) {
    if (InDriver::is_now() || driver() == nullptr || begin() != CUDA_SUCCESS)
        return enqueue_with_permit(slot, WorkKind::kernels, stream, arguments...);
    FirstUse use;
    if (const CUresult over = use.prepare(function); over != CUDA_SUCCESS) return over;
    use.read();
    const CUresult result = enqueue_with_permit(slot, WorkKind::kernels, stream, arguments...);
    if (result != CUDA_SUCCESS) return result;
    use.count_with_module_of(function);
    note_used(reinterpret_cast<std::uint64_t>(function));
    return result;
}

template <typename Function, typename... Arguments>
CUresult launch(CUfunction function, Function Driver::* slot, CUstream stream,
                Arguments... arguments) {
    if (is_used(reinterpret_cast<std::uint64_t>(function))) [[likely]]
        return enqueue_with_permit(slot, WorkKind::kernels, stream, arguments...);
    return launch_first(function, slot, stream, arguments...);
}

// Calls body() in the stream's context. CUDA_SUCCESS without a call if the stream has none: the
// driver then refuses the launch.
template <typename Body>
CUresult in_context_of(CUstream stream, Body body) {
    const Driver& real = *driver();
    CUcontext context = nullptr;
    if (!real.cuStreamGetCtx || real.cuStreamGetCtx(stream, &context) != CUDA_SUCCESS)
        return CUDA_SUCCESS;
    if (real.cuCtxPushCurrent_v2(context) != CUDA_SUCCESS) return CUDA_SUCCESS;
    const CUresult result = body();
    real.cuCtxPopCurrent_v2(&context);
    return result;
}

}  // namespace

// The hooks of a launch and of its twin, where a null stream is the thread's own.
#define LAUNCH(name, of, parameters, arguments)                                         \
    CUresult name parameters {                                                          \
        return launch(function, &Driver::name, of, UNPACK arguments);                   \
    }                                                                                   \
    CUresult name##_ptsz parameters {                                                   \
        return launch(function, &Driver::name##_ptsz, of_thread(of), UNPACK arguments); \
    }

LAUNCH(cuLaunchKernel, stream,
       (CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
        CUstream stream, void** parameters, void** extra),
       (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream,
        parameters, extra))
LAUNCH(cuLaunchCooperativeKernel, stream,
       (CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
        CUstream stream, void** parameters),
       (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream,
        parameters))
LAUNCH(cuLaunchKernelEx, config != nullptr ? config->hStream : nullptr,
       (const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra),
       (config, function, parameters, extra))

// The launches of CUDA 2.
CUresult cuLaunch(CUfunction function) {
    return launch(function, &Driver::cuLaunch, nullptr, function);
}

CUresult cuLaunchGrid(CUfunction function, int width, int height) {
    return launch(function, &Driver::cuLaunchGrid, nullptr, function, width, height);
}

CUresult cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream) {
    return launch(function, &Driver::cuLaunchGridAsync, stream, function, width, height, stream);
}

// Each launch is work of its stream's GPU, and needs that GPU's launch permit. A refusal refuses
// them all, so whatever can be refused comes before the first permit: with it, work begins.
CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS_v1* launches, unsigned int count,
                                              unsigned int flags) {
    const Entered real(&Driver::cuLaunchCooperativeKernelMultiDevice);
    if (!real.must_enforce()) return real(launches, count, flags);
    // Each is on a different device, or the driver refuses them all.
    LaunchPermit permits[kMaxDevices];
    const unsigned permit_count =
        launches == nullptr ? 0 : (count < kMaxDevices ? count : kMaxDevices);
    for (unsigned i = 0; i < permit_count; i++) {
        const CUresult refused = in_context_of(launches[i].hStream, [&] {
            Current owner;
            if (const CUresult none = find_current(owner); none != CUDA_SUCCESS) return none;
            FirstUse use;
            return use.prepare(launches[i].function);
        });
        if (refused != CUDA_SUCCESS) return refused;
    }
    for (unsigned i = 0; i < permit_count; i++) {
        const CUresult refused = in_context_of(launches[i].hStream, [&] {
            return permits[i].take(launches[i].hStream, WorkKind::kernels);
        });
        if (refused != CUDA_SUCCESS) return refused;  // another thread ended the context
    }
    return real(launches, count, flags);
}
