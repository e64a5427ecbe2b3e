/* A libcuda.so.1 that does next to nothing, so that what a hook costs is all that is left of a call.
 * Addresses are never given twice. */
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
