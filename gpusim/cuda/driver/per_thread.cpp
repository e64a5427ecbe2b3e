// Launches, waits, allocations and captures in the default stream of the calling thread.
#include "gpusim/cuda/driver/per_thread.hpp"

using gpusim::of_thread;

PER_THREAD(cuLaunchKernel,
           (CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
            unsigned int block_x, unsigned int block_y, unsigned int block_z,
            unsigned int shared_bytes, CUstream stream, void** parameters, void** extra),
           (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
            of_thread(stream), parameters, extra))
PER_THREAD(cuLaunchCooperativeKernel,
           (CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
            unsigned int block_x, unsigned int block_y, unsigned int block_z,
            unsigned int shared_bytes, CUstream stream, void** parameters),
           (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
            of_thread(stream), parameters))
PER_THREAD(cuLaunchHostFunc, (CUstream stream, CUhostFn function, void* data),
           (of_thread(stream), function, data))
PER_THREAD(cuLaunchHostFunc_v2, (CUstream stream, CUhostFn function, void* data, unsigned int mode),
           (of_thread(stream), function, data, mode))
PER_THREAD(cuStreamBeginRecaptureToGraph,
           (CUstream stream, CUstreamCaptureMode mode, CUgraph graph,
            CUgraphRecaptureCallback callback, void* data),
           (of_thread(stream), mode, graph, callback, data))
PER_THREAD(cuStreamQuery, (CUstream stream), (of_thread(stream)))
PER_THREAD(cuStreamSynchronize, (CUstream stream), (of_thread(stream)))
PER_THREAD(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned int flags),
           (of_thread(stream), event, flags))
PER_THREAD(cuStreamAddCallback,
           (CUstream stream, CUstreamCallback callback, void* data, unsigned int flags),
           (of_thread(stream), callback, data, flags))
PER_THREAD(cuStreamGetFlags, (CUstream stream, unsigned int* flags), (of_thread(stream), flags))
PER_THREAD(cuStreamGetPriority, (CUstream stream, int* priority), (of_thread(stream), priority))
PER_THREAD(cuStreamGetCtx, (CUstream stream, CUcontext* context), (of_thread(stream), context))
PER_THREAD(cuStreamGetId, (CUstream stream, unsigned long long* id), (of_thread(stream), id))
PER_THREAD(cuEventRecord, (CUevent event, CUstream stream), (event, of_thread(stream)))
PER_THREAD(cuEventRecordWithFlags, (CUevent event, CUstream stream, unsigned int flags),
           (event, of_thread(stream), flags))
PER_THREAD(cuMemAllocAsync, (CUdeviceptr * pointer, size_t bytes, CUstream stream),
           (pointer, bytes, of_thread(stream)))
PER_THREAD(cuMemAllocFromPoolAsync,
           (CUdeviceptr * pointer, size_t bytes, CUmemoryPool pool, CUstream stream),
           (pointer, bytes, pool, of_thread(stream)))
PER_THREAD(cuMemFreeAsync, (CUdeviceptr pointer, CUstream stream), (pointer, of_thread(stream)))
PER_THREAD(cuGraphInstantiateWithParams,
           (CUgraphExec * exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters),
           (exec, graph, parameters))
PER_THREAD(cuGraphUpload, (CUgraphExec exec, CUstream stream), (exec, of_thread(stream)))
PER_THREAD(cuGraphLaunch, (CUgraphExec exec, CUstream stream), (exec, of_thread(stream)))
PER_THREAD(cuStreamBeginCapture, (CUstream stream), (of_thread(stream)))
PER_THREAD(cuStreamBeginCaptureToGraph,
           (CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
            const CUgraphEdgeData* edges, size_t dependency_count, CUstreamCaptureMode mode),
           (of_thread(stream), graph, dependencies, edges, dependency_count, mode))
PER_THREAD(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode),
           (of_thread(stream), mode))
PER_THREAD(cuStreamEndCapture, (CUstream stream, CUgraph* graph), (of_thread(stream), graph))
PER_THREAD(cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus* status),
           (of_thread(stream), status))

CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction function, void** parameters,
                               void** extra) {
    if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUlaunchConfig in_thread = *config;
    in_thread.hStream = of_thread(config->hStream);
    return cuLaunchKernelEx(&in_thread, function, parameters, extra);
}
