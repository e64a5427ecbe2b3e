// The GPUs of this machine as choose_run_gpu() needs them.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "domain/run/run_choice.hpp"
#include "ports/gpu_inventory.hpp"

namespace tessera {

// What the runs use of each GPU.
using RunMemory = std::map<GpuUuid, Bytes>;
RunMemory memory_of_runs(std::span<const LiveRun> runs);

// `used` is what the runs use as of the readings. Everything else that is in use belongs to
// processes outside of runs.
std::vector<RunGpu> run_gpus(std::span<const GpuReading> readings, const RunMemory& used);

}  // namespace tessera
