// Nodes and tasks in the placement engine's unit, thousandths of a GPU. A share of memory or of
// cores maps to thousandths; the caller does the conversion.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tessera {

inline constexpr int kMilliPerGpu = 1000;
inline constexpr int kMaxGpus = 16;    // of one node
inline constexpr int kMaxModels = 64;  // of one engine

// A set of GPU models by number: bit n for model n.
using ModelSet = std::uint64_t;
inline constexpr ModelSet kAnyModel = ~ModelSet{0};

// A set of a node's GPUs by index: bit n for GPU n.
using GpuSet = std::uint16_t;

constexpr ModelSet model_bit(int model) {
    return ModelSet{1} << model;
}
constexpr GpuSet gpu_bit(int gpu) {
    return static_cast<GpuSet>(1U << static_cast<unsigned>(gpu));
}

// The capacity of a node.
struct NodeShape {
    std::int32_t cpu_milli = 0;
    std::int32_t memory_mib = 0;
    int gpus = 0;   // at most kMaxGpus
    int model = 0;  // below kMaxModels

    friend bool operator==(const NodeShape&, const NodeShape&) = default;
};

// A request: `count` distinct GPUs with `milli` free on each. If `count` is 0, `milli` is 0 too.
struct PlacementTask {
    std::int32_t cpu_milli = 0;
    std::int32_t memory_mib = 0;
    std::int16_t milli = 0;  // at most kMilliPerGpu
    std::int16_t count = 0;  // at most kMaxGpus
    ModelSet models = kAnyModel;

    friend bool operator==(const PlacementTask&, const PlacementTask&) = default;
};

// The sum over its GPUs.
constexpr std::int32_t milli_of(const PlacementTask& task) {
    return task.milli * task.count;
}

// For hash tables by task. It is inline, because a decision computes two of them.
struct TaskHash {
    std::size_t operator()(const PlacementTask& task) const {
        std::uint64_t hash = task.models;
        for (const std::int32_t part :
             {task.cpu_milli, task.memory_mib, task.milli * (kMaxGpus + 1) + task.count})
            hash = std::rotl((hash ^ static_cast<std::uint32_t>(part)) * 0x9E3779B97F4A7C15U, 29);
        return static_cast<std::size_t>(hash);
    }
};

// The kinds of tasks that the policy Clustering distinguishes: shares of one GPU, and whole GPUs by
// number. Bit 0 is for shares, bit n for n GPUs.
using TaskKinds = std::uint32_t;

constexpr TaskKinds kind_of(const PlacementTask& task) {
    if (task.count == 0) return 0;
    const bool is_share = task.count == 1 && task.milli < kMilliPerGpu;
    return is_share ? 1U : 1U << static_cast<unsigned>(task.count);
}

// The free resources of a node.
struct NodeLoad {
    std::int32_t cpu_milli = 0;
    std::int32_t memory_mib = 0;
    std::array<std::int16_t, kMaxGpus> milli{};  // per GPU; 0 beyond `gpus`
    std::int16_t gpus = 0;
    std::int16_t model = 0;
    TaskKinds kinds = 0;  // of the tasks that run there

    [[nodiscard]] int free_milli() const {
        int sum = 0;
        for (const std::int16_t gpu : milli)
            sum += gpu;
        return sum;
    }

    friend bool operator==(const NodeLoad&, const NodeLoad&) = default;
};

NodeLoad empty_load(const NodeShape& shape);

// Whether the task fits by model, CPU and GPUs; memory is ignored.
bool can_take_but_memory(const NodeLoad& load, const PlacementTask& task);
bool can_take(const NodeLoad& load, const PlacementTask& task);

// The GPUs with the least free that fit; among equals, the lowest index. `load` must be able to
// take `task`.
GpuSet tightest_gpus(const NodeLoad& load, const PlacementTask& task);

// Whether an earlier GPU has the same amount free. Such a GPU gets the same score, and the first
// wins.
inline bool has_twin_before(const NodeLoad& load, int gpu) {
    const auto* const end = load.milli.begin() + gpu;
    return std::find(load.milli.begin(), end, *end) != end;
}

// `load` with all other GPUs full.
NodeLoad only(NodeLoad load, GpuSet gpus);

// `load` after the task took `gpus`; `kinds` is not changed.
NodeLoad load_after(const NodeLoad& load, const PlacementTask& task, GpuSet gpus);

}  // namespace tessera
