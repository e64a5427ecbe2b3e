// Green contexts: each has some of a device's multiprocessors, takes a little of the GPU itself,
// and shares the memory of the device's primary context, which lives as long as it does. Only the
// multiprocessors are reported as resources, and every kernel can use all of them.
#include "gpusim/cuda/driver/green_contexts.hpp"

#include <cstdlib>

#include "gpusim/cuda/driver/driver.hpp"
#include "gpusim/cuda/work/module.hpp"

using gpusim::Session;

namespace {

constexpr unsigned kDescriptionMark = 0x44455343;

// A CUdevResourceDesc points to one. Never freed.
struct Description {
    unsigned mark;
};

bool is_description(CUdevResourceDesc handle) {
    const auto* description = reinterpret_cast<const Description*>(handle);
    return description != nullptr && description->mark == kDescriptionMark;
}

}  // namespace

CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource* resource, CUdevResourceType type) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!gpusim::is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    *resource = {};
    resource->type = type;
    resource->of.sm.smCount = gpusim::multiprocessors_of(gpusim::driver.devices.gpus[device]);
    return CUDA_SUCCESS;
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* description, CUdevResource* resources,
                                   unsigned int count) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (description == nullptr || resources == nullptr || count == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (unsigned i = 0; i < count; i++)
        if (resources[i].type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    auto* made = static_cast<Description*>(std::calloc(1, sizeof(Description)));
    if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    made->mark = kDescriptionMark;
    *description = reinterpret_cast<CUdevResourceDesc>(made);
    return CUDA_SUCCESS;
}

CUresult cuGreenCtxCreate(CUgreenCtx* green, CUdevResourceDesc description, CUdevice device,
                          unsigned int flags) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    constexpr unsigned kFlags = CU_GREEN_CTX_DEFAULT_STREAM;
    if (green == nullptr || !is_description(description) || (flags & ~kFlags) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!gpusim::is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    return gpusim::make_green(device, green);
}

CUresult cuGreenCtxDestroy(CUgreenCtx green) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    return gpusim::destroy_green(green);
}

CUresult cuCtxFromGreenCtx(CUcontext* context, CUgreenCtx green) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return gpusim::context_of_green(green, context);
}
