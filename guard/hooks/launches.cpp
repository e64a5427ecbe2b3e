// Kernels: they go to the card when it is the container's turn.
#include "guard/hooks/work.hpp"

using namespace tessera::guard;  // the hooks are extern "C" and stand outside

IN_STREAM_OF(cuLaunchKernel, WorkKind::kernels, stream,
             (CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
              unsigned int block_x, unsigned int block_y, unsigned int block_z,
              unsigned int shared_bytes, CUstream stream, void** parameters, void** extra),
             (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream,
              parameters, extra))
IN_STREAM_OF(cuLaunchCooperativeKernel, WorkKind::kernels, stream,
             (CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
              unsigned int block_x, unsigned int block_y, unsigned int block_z,
              unsigned int shared_bytes, CUstream stream, void** parameters),
             (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream,
              parameters))
IN_STREAM_OF(cuLaunchKernelEx, WorkKind::kernels, config != nullptr ? config->hStream : nullptr,
             (const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra),
             (config, function, parameters, extra))

// The launches of CUDA 2.
CUresult cuLaunch(CUfunction function) {
    return give_work(&Driver::cuLaunch, WorkKind::kernels, nullptr, function);
}

CUresult cuLaunchGrid(CUfunction function, int width, int height) {
    return give_work(&Driver::cuLaunchGrid, WorkKind::kernels, nullptr, function, width, height);
}

CUresult cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream) {
    return give_work(&Driver::cuLaunchGridAsync, WorkKind::kernels, stream, function, width, height,
                     stream);
}

// Each is work of its stream's card, in its turn.
CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS_v1* launches, unsigned int count,
                                              unsigned int flags) {
    const Entered real(&Driver::cuLaunchCooperativeKernelMultiDevice);
    if (!real.is_held()) return real(launches, count, flags);
    const Driver& driver_itself = *driver();
    // Each is of a device of its own, or the driver refuses them all.
    Turn turns[kMaxDevices];
    const unsigned turn_count = count < kMaxDevices ? count : kMaxDevices;
    for (unsigned i = 0; launches != nullptr && i < turn_count; i++) {
        CUstream stream = launches[i].hStream;
        CUcontext context = nullptr;
        const auto& ask_context = driver_itself.cuStreamGetCtx;
        if (!ask_context || ask_context(stream, &context) != CUDA_SUCCESS) continue;
        if (driver_itself.cuCtxPushCurrent_v2(context) != CUDA_SUCCESS) continue;
        const CUresult refused = turns[i].take(stream, WorkKind::kernels);
        driver_itself.cuCtxPopCurrent_v2(&context);
        if (refused != CUDA_SUCCESS) return refused;
    }
    return real(launches, count, flags);
}
