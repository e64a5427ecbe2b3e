// The launches of CUDA 2, whose shape and parameters are set by separate calls before.
#include <cstring>

#include "gpusim/cuda/work/module.hpp"

using gpusim::Session;
using gpusim::Shape;

namespace {

CUresult set_parameter(CUfunction function, int offset, const void* from, std::size_t bytes) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Shape* shape = gpusim::shape_of(function);
    if (shape == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (offset < 0 || static_cast<std::size_t>(offset) + bytes > sizeof shape->parameters)
        return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(shape->parameters + offset, from, bytes);
    return CUDA_SUCCESS;
}

CUresult launch(CUfunction function, int width, int height, CUstream stream) {
    if (width <= 0 || height <= 0) return CUDA_ERROR_INVALID_VALUE;
    Shape shape = {};
    {
        const Session session;
        if (session.error() != CUDA_SUCCESS) return session.error();
        const Shape* found = gpusim::shape_of(function);
        if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        shape = *found;
    }
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, shape.parameters, CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &shape.parameter_bytes, CU_LAUNCH_PARAM_END};
    return cuLaunchKernel(function, static_cast<unsigned>(width), static_cast<unsigned>(height), 1,
                          shape.block[0], shape.block[1], shape.block[2], 0, stream, nullptr,
                          shape.parameter_bytes > 0 ? extra : nullptr);
}

}  // namespace

CUresult cuFuncSetBlockShape(CUfunction function, int x, int y, int z) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Shape* shape = gpusim::shape_of(function);
    if (shape == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (x <= 0 || y <= 0 || z <= 0) return CUDA_ERROR_INVALID_VALUE;
    shape->block[0] = static_cast<unsigned>(x);
    shape->block[1] = static_cast<unsigned>(y);
    shape->block[2] = static_cast<unsigned>(z);
    return CUDA_SUCCESS;
}

CUresult cuFuncSetSharedSize(CUfunction function, unsigned int /*bytes*/) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    return gpusim::shape_of(function) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuParamSetSize(CUfunction function, unsigned int bytes) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Shape* shape = gpusim::shape_of(function);
    if (shape == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (bytes > sizeof shape->parameters) return CUDA_ERROR_INVALID_VALUE;
    shape->parameter_bytes = bytes;
    return CUDA_SUCCESS;
}

CUresult cuParamSeti(CUfunction function, int offset, unsigned int value) {
    return set_parameter(function, offset, &value, sizeof value);
}

CUresult cuParamSetf(CUfunction function, int offset, float value) {
    return set_parameter(function, offset, &value, sizeof value);
}

CUresult cuParamSetv(CUfunction function, int offset, void* from, unsigned int bytes) {
    if (from == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return set_parameter(function, offset, from, bytes);
}

CUresult cuLaunch(CUfunction function) {
    return launch(function, 1, 1, nullptr);
}

CUresult cuLaunchGrid(CUfunction function, int width, int height) {
    return launch(function, width, height, nullptr);
}

CUresult cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream) {
    return launch(function, width, height, stream);
}

// Each is on the device of its stream, which must not be a default one.
CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS_v1* launches, unsigned int count,
                                              unsigned int flags) {
    if (launches == nullptr || count == 0 || flags > 3) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++)
        if (launches[i].hStream == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        const CUDA_LAUNCH_PARAMS_v1& each = launches[i];
        const CUresult error = cuLaunchCooperativeKernel(
            each.function, each.gridDimX, each.gridDimY, each.gridDimZ, each.blockDimX,
            each.blockDimY, each.blockDimZ, each.sharedMemBytes, each.hStream, each.kernelParams);
        if (error != CUDA_SUCCESS) return error;
    }
    return CUDA_SUCCESS;
}
