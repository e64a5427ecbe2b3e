#include "gpusim/cuda/driver/newer.h"

// This library is linked as a real driver is: its calls of its own functions stay within it.
CUresult cuMemAlloc_v3(CUdeviceptr* pointer, size_t bytes, unsigned long long flags) {
    return flags == 0 ? cuMemAlloc_v2(pointer, bytes) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuLaunchKernel_v2(const CUlaunchConfig* config, CUfunction function, void** parameters,
                           unsigned long long flags) {
    return flags == 0 ? cuLaunchKernelEx(config, function, parameters, nullptr)
                      : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuTomorrowDo(int* answer) {
    if (answer == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *answer = 42;
    return CUDA_SUCCESS;
}
