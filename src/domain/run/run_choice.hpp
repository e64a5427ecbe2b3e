// On which GPU of this machine a run gets its share. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "domain/run/run_lease.hpp"

namespace tessera {

struct RunRequest {
    Bytes memory;
    Percent cores;    // guarantee; 0: none
    std::string gpu;  // an index or a UUID; empty: any GPU
};

struct RunGpu {
    GpuUuid uuid;
    int index = 0;
    std::string model;     // may be empty
    Bytes memory;          // without the driver's reserve
    Bytes used_outside;    // by processes that belong to no run
    std::string unusable;  // why runs cannot use it; empty: they can
};

struct RunChoice {
    std::optional<std::size_t> gpu;  // an index of the GPUs; nothing: the run is refused
    std::string reason;              // of a refusal, with the numbers of the GPU that comes closest
    // Whether it may fit after other runs or processes end.
    bool may_fit_later = false;
    // Whether it would fit without the processes that belong to no run.
    bool fits_without_outside = false;
};

// Best fit: of the GPUs with enough free memory and compute, the one with the least free memory,
// then the one with the least free compute, then the lowest index. The memory of the leases on a
// GPU, together with what other processes use of it, never exceeds the GPU's memory; the sum of
// guarantees never exceeds 100 percent.
RunChoice choose_run_gpu(std::span<const RunGpu> gpus, std::span<const LiveRun> runs,
                         const RunRequest& request);

}  // namespace tessera
