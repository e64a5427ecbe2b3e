#include "app/run/run_gpus.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera {
namespace {

std::string why_unusable(const GpuReading& reading) {
    if (!reading.lost.empty()) return "the driver answers: " + reading.lost;
    if (reading.setup.mig) {
        return fmt::format("MIG mode is on; switch it off: sudo nvidia-smi -i {} -mig 0",
                           reading.uuid.str());
    }
    return why_not_shareable(reading.uuid, reading.setup);
}

}  // namespace

RunMemory memory_of_runs(std::span<const LiveRun> runs) {
    RunMemory used;
    for (const LiveRun& run : runs)
        used[run.lease.gpu] += run.used;
    return used;
}

std::vector<RunGpu> run_gpus(std::span<const GpuReading> readings, const RunMemory& used) {
    std::vector<RunGpu> gpus;
    gpus.reserve(readings.size());
    for (const GpuReading& reading : readings) {
        const auto of_runs = used.find(reading.uuid);
        const Bytes in_runs = of_runs == used.end() ? Bytes{} : of_runs->second;
        gpus.push_back({.uuid = reading.uuid,
                        .index = reading.index,
                        .model = reading.model,
                        .memory = reading.memory - reading.reserved,
                        .used_outside = std::max(reading.used - in_runs, Bytes{}),
                        .unusable = why_unusable(reading)});
    }
    return gpus;
}

}  // namespace tessera
