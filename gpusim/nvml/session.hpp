// State of libnvidia-ml.so.1 in one process: whether it is initialized, and which GPUs it shows.
//
// It maps the shared state for reading, so it works on a read-only mount. What sets something opens
// the state again for that.
//
// Thread rule: initialize and shut_down take a mutex. Queries run without one, provided that no
// thread shuts NVML down at the same time.
#pragma once

#include "api/nvidia/nvml.h"
#include "gpusim/state/state.hpp"
#include "gpusim/state/visible.hpp"

// An nvmlDevice_t points to one. Handles stay valid for the life of the process.
struct nvmlDevice_st {
    int gpu;         // index into GpusFile::gpus
    unsigned index;  // as nvmlDeviceGetIndex gives it
};

namespace gpusim {

struct Nvml {
    State state;
    GpuList present;
    std::uint32_t driver_loads;       // GpusFile::driver_loads when it was initialized
    nvmlDevice_st devices[kMaxGpus];  // by GPU
};

extern constinit Nvml nvml;

nvmlReturn_t initialize();
nvmlReturn_t shut_down();

// NVML_SUCCESS or NVML_ERROR_UNINITIALIZED. NVML_ERROR_UNKNOWN if the driver is dead, or was
// reloaded since NVML was initialized.
nvmlReturn_t ready();

// The error that NVML returns for this GPU; NVML_SUCCESS if there is none.
nvmlReturn_t gpu_error(const Gpu& gpu);

// Whether NVML answers NVML_ERROR_NOT_SUPPORTED to this query.
inline bool hides(const Gpu& gpu, Hidden what) {
    return (gpu.hidden.load() & what) != 0;
}

// The GPU behind a handle: NVML_ERROR_UNINITIALIZED, NVML_ERROR_INVALID_ARGUMENT for an invalid
// handle, and the result of gpu_error.
nvmlReturn_t find_gpu(nvmlDevice_t device, const Gpu** gpu);

// Copies `text` as NVML does: NVML_ERROR_INSUFFICIENT_SIZE if it does not fit.
nvmlReturn_t copy_text(const char* text, char* out, unsigned length);

}  // namespace gpusim
