/* A library that is linked against the driver. Its constructor stores the address of a function, as
 * function tables do that are filled before main. */
#include "api/nvidia/cuda.h"
#include "guard/test_support/takers.h"

static CUresult (*kept)(CUdeviceptr*, size_t);

__attribute__((constructor)) static void keep(void) {
    kept = cuMemAlloc_v2;
}

int take(void) {
    CUdeviceptr pointer = 0;
    CUcontext context = NULL;
    if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate_v2(&context, 0, 0) != CUDA_SUCCESS) return -2;
    const CUresult by_kept = kept(&pointer, kTaken);
    const CUresult by_call = cuMemAlloc_v2(&pointer, kTaken);
    return by_kept == by_call ? (int)by_call : -3;
}
