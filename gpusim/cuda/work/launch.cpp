// cuLaunch*: kernels.
#include "gpusim/cuda/work/capture.hpp"
#include "gpusim/cuda/work/module.hpp"

using gpusim::Launch;
using gpusim::Operation;
using gpusim::Session;
using gpusim::Stream;

namespace {

CUresult launch(const Launch& wanted, CUstream handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Stream* stream = nullptr;
    if (const CUresult error = gpusim::find_stream(handle, &stream); error != CUDA_SUCCESS) {
        return error;
    }
    Operation* operation = nullptr;
    if (const CUresult error = gpusim::operation_of(wanted, &operation); error != CUDA_SUCCESS) {
        return error;
    }
    if (stream->capture != nullptr) {
        return gpusim::record(*stream, gpusim::node_of(CU_GRAPH_NODE_TYPE_KERNEL, operation));
    }
    return gpusim::enqueue(*stream, operation);
}

}  // namespace

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                        unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                        unsigned int block_z, unsigned int /*shared_bytes*/, CUstream stream,
                        void** parameters, void** extra) {
    return launch({.function = function,
                   .grid = {grid_x, grid_y, grid_z},
                   .block = {block_x, block_y, block_z},
                   .parameters = parameters,
                   .extra = extra},
                  stream);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void** extra) {
    if (config == nullptr || (config->numAttrs > 0 && config->attrs == nullptr)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    bool is_cooperative = false;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttribute& attribute = config->attrs[i];
        if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
            is_cooperative = attribute.value.cooperative != 0;
    }
    return launch({.function = function,
                   .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
                   .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
                   .is_cooperative = is_cooperative,
                   .parameters = parameters,
                   .extra = extra},
                  config->hStream);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                   unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                   unsigned int block_z, unsigned int /*shared_bytes*/,
                                   CUstream stream, void** parameters) {
    return launch({.function = function,
                   .grid = {grid_x, grid_y, grid_z},
                   .block = {block_x, block_y, block_z},
                   .is_cooperative = true,
                   .parameters = parameters},
                  stream);
}
