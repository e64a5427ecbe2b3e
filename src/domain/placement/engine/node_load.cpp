#include "domain/placement/engine/node_load.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace tessera {

NodeLoad empty_load(const NodeShape& shape) {
    TESSERA_CHECK(shape.gpus >= 0 && shape.gpus <= kMaxGpus, "a node has at most kMaxGpus");
    TESSERA_CHECK(shape.model >= 0 && shape.model < kMaxModels, "an engine has at most kMaxModels");
    NodeLoad load{.cpu_milli = shape.cpu_milli,
                  .memory_mib = shape.memory_mib,
                  .gpus = static_cast<std::int16_t>(shape.gpus),
                  .model = static_cast<std::int16_t>(shape.model)};
    std::fill_n(load.milli.begin(), shape.gpus, static_cast<std::int16_t>(kMilliPerGpu));
    return load;
}

bool can_take_but_memory(const NodeLoad& load, const PlacementTask& task) {
    if (load.cpu_milli < task.cpu_milli) return false;
    if (task.count == 0) return true;
    if ((task.models & model_bit(load.model)) == 0) return false;
    int fitting = 0;
    for (int gpu = 0; gpu < load.gpus; ++gpu)
        fitting += load.milli[static_cast<std::size_t>(gpu)] >= task.milli ? 1 : 0;
    return fitting >= task.count;
}

bool can_take(const NodeLoad& load, const PlacementTask& task) {
    return load.memory_mib >= task.memory_mib && can_take_but_memory(load, task);
}

GpuSet tightest_gpus(const NodeLoad& load, const PlacementTask& task) {
    GpuSet chosen = 0;
    for (int taken = 0; taken < task.count; ++taken) {
        int best = -1;
        for (int gpu = 0; gpu < load.gpus; ++gpu) {
            const int free = load.milli[static_cast<std::size_t>(gpu)];
            if (free < task.milli || (chosen & gpu_bit(gpu)) != 0) continue;
            if (best < 0 || free < load.milli[static_cast<std::size_t>(best)]) best = gpu;
        }
        TESSERA_CHECK(best >= 0, "only a node that can take the task is asked for GPUs");
        chosen = static_cast<GpuSet>(chosen | gpu_bit(best));
    }
    return chosen;
}

NodeLoad only(NodeLoad load, GpuSet gpus) {
    for (int gpu = 0; gpu < kMaxGpus; ++gpu) {
        if ((gpus & gpu_bit(gpu)) == 0) load.milli.at(static_cast<std::size_t>(gpu)) = 0;
    }
    return load;
}

NodeLoad load_after(const NodeLoad& load, const PlacementTask& task, GpuSet gpus) {
    NodeLoad after = load;
    after.cpu_milli -= task.cpu_milli;
    after.memory_mib -= task.memory_mib;
    for (int gpu = 0; gpu < load.gpus; ++gpu) {
        if ((gpus & gpu_bit(gpu)) == 0) continue;
        auto& free = after.milli[static_cast<std::size_t>(gpu)];
        free = static_cast<std::int16_t>(free - task.milli);
    }
    return after;
}

}  // namespace tessera
