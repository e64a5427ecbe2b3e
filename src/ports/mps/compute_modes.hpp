// Which processes the driver admits on a GPU.
#pragma once

#include "base/ids.hpp"
#include "base/result.hpp"
#include "domain/health/shareable.hpp"

namespace tessera {

// Any thread may call.
class ComputeModes {
  public:
    virtual ~ComputeModes() = default;

    // Errors: not_found if the driver does not list the GPU, permission_denied without root,
    // unsupported if the GPU has no such mode, unavailable otherwise.
    [[nodiscard]] virtual Result<ComputeMode> get(const GpuUuid& gpu) = 0;
    // Processes that use the GPU keep it.
    virtual Result<> set(const GpuUuid& gpu, ComputeMode mode) = 0;
};

}  // namespace tessera
