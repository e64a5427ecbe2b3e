// The input of the bound: how much of the GPUs can the tasks use, however they are placed on the
// nodes?
//
// If GPUs have several sizes, a share in bytes is another task on each size: a task of a demand is
// placed in one of several ways.
//
// All simplifications raise the bound, because it must never be too low. All tasks of a class count
// with the least memory of any of them. A task that requests parts of several GPUs counts as
// several tasks with a part of one GPU, which need not be on one node.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "domain/placement/engine/node_load.hpp"

namespace tessera {

// One way to place a task: its request on GPUs of one size.
struct BoundWay {
    PlacementTask task;
    // Its whole GPUs count one by one, on any nodes. For nodes that are split here into several
    // nodes, one for each kind of GPU.
    bool by_gpu = false;
};

// Tasks with the same ways; each is placed in one of them.
struct BoundDemand {
    std::int64_t gpus = 0;        // total of their requests; a part of a GPU counts as one
    std::int16_t most_milli = 0;  // of one GPU, in the way that takes the most

    friend bool operator==(const BoundDemand&, const BoundDemand&) = default;
};

// Tasks of a demand in one of its ways. `count` is above 1 only for whole GPUs.
struct BoundClass {
    std::int32_t cpu_milli = 0;
    std::int32_t memory_mib = 0;  // the smallest request of its tasks
    std::int16_t milli = 0;
    std::int16_t count = 0;
    ModelSet models = kAnyModel;
    std::size_t demand = 0;
    std::int16_t gain_milli = 0;  // the gain per GPU: the thousandths that it takes

    // The gain of one task, in GPUs.
    [[nodiscard]] double gain() const {
        return static_cast<double>(gain_milli) * count / kMilliPerGpu;
    }

    friend bool operator==(const BoundClass&, const BoundClass&) = default;
};

// Nodes with the same resources.
struct BoundShape {
    NodeShape node;
    int nodes = 0;

    friend bool operator==(const BoundShape&, const BoundShape&) = default;
};

// Whether a placement may drop tasks without GPUs, to free their CPU for others.
enum class CpuOnlyTasks { may_be_dropped, are_kept };

struct BoundProblem {
    std::vector<BoundDemand> demands;  // of tasks that request GPUs
    std::vector<BoundClass> classes;
    std::vector<BoundShape> shapes;
    std::int64_t kept_cpu_milli = 0;  // of the tasks without GPUs, if they are kept

    // The total request, in GPUs; each task in the way that takes the most.
    [[nodiscard]] double asked_gpus() const;
    // The total of the nodes.
    [[nodiscard]] double gpus() const;
    [[nodiscard]] std::int64_t cpu_milli() const;
};

// The order of demands, classes and shapes does not depend on the order of nodes and tasks.
BoundProblem bound_problem(std::span<const NodeShape> nodes, std::span<const PlacementTask> tasks,
                           CpuOnlyTasks cpu_only);
// The same for tasks that can be placed in several ways. All ways of a task request the same number
// of GPUs, at least one.
BoundProblem bound_problem(std::span<const NodeShape> nodes,
                           std::span<const std::vector<BoundWay>> tasks);

}  // namespace tessera
