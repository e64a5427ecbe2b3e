// Kernels: they go to the card when it is the container's turn.
#include "guard/hooks/work.hpp"

using namespace tessera::guard;  // the hooks are extern "C" and stand outside

// A launch, and its twin for a null stream that is the thread's own.
#define LAUNCH(name, stream, parameters, arguments)                                  \
    CUresult name parameters {                                                       \
        return give_work(&Driver::name, WorkKind::kernels, stream, EACH arguments);  \
    }                                                                                \
    CUresult name##_ptsz parameters {                                                \
        return give_work(&Driver::name##_ptsz, WorkKind::kernels, of_thread(stream), \
                         EACH arguments);                                            \
    }
#define EACH(...) __VA_ARGS__

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
