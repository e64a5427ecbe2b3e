/* Entry points that no driver has. They are in the build that plays a later driver, whose functions
 * a library in front of a driver does not know. */
#pragma once

#include "api/nvidia/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GPUSIM_NEWER_VERSION 13050

#pragma GCC visibility push(default)

/* As the version before, with flags, which are 0. */
CUresult cuMemAlloc_v3(CUdeviceptr* pointer, size_t bytes, unsigned long long flags);
CUresult cuLaunchKernel_v2(const CUlaunchConfig* config, CUfunction function, void** parameters,
                           unsigned long long flags);
/* Answers 42. */
CUresult cuTomorrowDo(int* answer);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
