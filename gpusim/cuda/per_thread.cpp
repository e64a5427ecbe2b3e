// The calls whose null stream is the default stream of the calling thread (_ptsz). Those that name
// no stream (_ptds) are in copies.cpp.
#include "api/nvidia/cuda.h"

namespace {

CUstream of_thread(CUstream stream) {
    return stream == nullptr ? CU_STREAM_PER_THREAD : stream;
}

}  // namespace

#define PER_THREAD(name, parameters, arguments) \
    CUresult name##_ptsz parameters {           \
        return name arguments;                  \
    }

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
PER_THREAD(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
           (to, from, bytes, of_thread(stream)))
PER_THREAD(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void* from, size_t bytes, CUstream stream),
           (to, from, bytes, of_thread(stream)))
PER_THREAD(cuMemcpyDtoHAsync_v2, (void* to, CUdeviceptr from, size_t bytes, CUstream stream),
           (to, from, bytes, of_thread(stream)))
PER_THREAD(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
           (to, from, bytes, of_thread(stream)))
PER_THREAD(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream),
           (to, value, count, of_thread(stream)))
PER_THREAD(cuMemsetD32Async, (CUdeviceptr to, unsigned int value, size_t count, CUstream stream),
           (to, value, count, of_thread(stream)))
PER_THREAD(cuMemcpyPeerAsync,
           (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
            size_t bytes, CUstream stream),
           (to, to_context, from, from_context, bytes, of_thread(stream)))
PER_THREAD(cuMemcpyHtoAAsync_v2,
           (CUarray to, size_t offset, const void* from, size_t bytes, CUstream stream),
           (to, offset, from, bytes, of_thread(stream)))
PER_THREAD(cuMemcpyAtoHAsync_v2,
           (void* to, CUarray from, size_t offset, size_t bytes, CUstream stream),
           (to, from, offset, bytes, of_thread(stream)))
PER_THREAD(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D_v2* copy, CUstream stream),
           (copy, of_thread(stream)))
PER_THREAD(cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D_v2* copy, CUstream stream),
           (copy, of_thread(stream)))
PER_THREAD(cuMemcpy3DPeerAsync, (const CUDA_MEMCPY3D_PEER_v1* copy, CUstream stream),
           (copy, of_thread(stream)))
PER_THREAD(cuMemcpyBatchAsync,
           (CUdeviceptr * to, CUdeviceptr* from, size_t* bytes, size_t count,
            CUmemcpyAttributes_v1* attributes, size_t* attribute_indices, size_t attribute_count,
            size_t* failed, CUstream stream),
           (to, from, bytes, count, attributes, attribute_indices, attribute_count, failed,
            of_thread(stream)))
PER_THREAD(cuMemcpy3DBatchAsync,
           (size_t count, CUDA_MEMCPY3D_BATCH_OP_v1* copies, size_t* failed,
            unsigned long long flags, CUstream stream),
           (count, copies, failed, flags, of_thread(stream)))
PER_THREAD(cuMemsetD16Async, (CUdeviceptr to, unsigned short value, size_t count, CUstream stream),
           (to, value, count, of_thread(stream)))
PER_THREAD(cuMemsetD2D8Async,
           (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
            CUstream stream),
           (to, pitch, value, width, height, of_thread(stream)))
PER_THREAD(cuMemsetD2D16Async,
           (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
            CUstream stream),
           (to, pitch, value, width, height, of_thread(stream)))
PER_THREAD(cuMemsetD2D32Async,
           (CUdeviceptr to, size_t pitch, unsigned int value, size_t width, size_t height,
            CUstream stream),
           (to, pitch, value, width, height, of_thread(stream)))
PER_THREAD(cuMemPrefetchAsync,
           (CUdeviceptr pointer, size_t bytes, CUdevice device, CUstream stream),
           (pointer, bytes, device, of_thread(stream)))
PER_THREAD(cuMemPrefetchAsync_v2,
           (CUdeviceptr pointer, size_t bytes, CUmemLocation location, unsigned int flags,
            CUstream stream),
           (pointer, bytes, location, flags, of_thread(stream)))
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
