// Green contexts as contexts. Every function requires a Session.
#pragma once

#include "api/nvidia/cuda.h"

namespace gpusim {

CUresult make_green(CUdevice device, CUgreenCtx* green);
CUresult destroy_green(CUgreenCtx green);
CUresult context_of_green(CUgreenCtx green, CUcontext* context);

}  // namespace gpusim
