/* A libcuda.so.1 that does next to nothing, so that the cost of a call is the cost of the hook.
 * Addresses are never reused. */
#include <string.h>

#include "api/nvidia/cuda.h"

static CUdeviceptr next = 1u << 30;

CUresult cuInit(unsigned int flags) { return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
    memset(uuid, 0, sizeof *uuid);
    return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuCtxGetDevice(CUdevice* device) {
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
    *context = (CUcontext)&next;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
    *pointer = next;
    next += bytes;
    return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
    return pointer != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Number of launches. By the events' times, each takes the GPU 2 us. */
static unsigned long long launches;

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                        unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                        unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                        void** parameters, void** extra) {
    (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z;
    (void)shared_bytes, (void)stream, (void)parameters, (void)extra;
    launches++;
    return function != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuEventCreate(CUevent* event, unsigned int flags) {
    static unsigned long long events[64];
    static int made;
    (void)flags;
    *event = (CUevent)&events[made++ % 64];
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
    (void)stream;
    *(unsigned long long*)event = launches;
    return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent event) { return event != NULL ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY; }

CUresult cuEventSynchronize(CUevent event) { return cuEventQuery(event); }

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
    *milliseconds = (float)(*(unsigned long long*)end - *(unsigned long long*)start) * 0.002F;
    return CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream stream) {
    return stream == NULL ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
    (void)stream;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) { return context != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT; }
