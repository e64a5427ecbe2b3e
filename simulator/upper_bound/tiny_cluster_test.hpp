// Random clusters for RapidCheck properties: 1 or 2 nodes with 1 or 2 GPUs each, and 1 to 6 tasks,
// few enough for ExhaustiveSearch (exhaustive_test.hpp). Call the functions in a property only.
#pragma once

#include <rapidcheck.h>

#include <vector>

#include "domain/placement/engine/node_load.hpp"

namespace tessera {

struct TinyCluster {
    std::vector<NodeShape> nodes;
    std::vector<PlacementTask> tasks;
};

// Values that occur twice are twice as likely. A model set of 0 fits no node.
inline PlacementTask any_tiny_task() {
    const auto milli =
        *rc::gen::elementOf(std::vector<std::int16_t>{0, 190, 330, 500, 650, 810, 1000, 1000});
    const auto count = *rc::gen::elementOf(std::vector<std::int16_t>{1, 1, 1, 2});
    return {.cpu_milli = *rc::gen::inRange(0, 60) * 33,
            .memory_mib = *rc::gen::inRange(0, 4) * 300,
            .milli = milli,
            .count = milli == 0 ? std::int16_t{0} : count,
            .models = *rc::gen::elementOf(
                std::vector<ModelSet>{kAnyModel, kAnyModel, kAnyModel, model_bit(0), 0})};
}

inline TinyCluster any_tiny_cluster() {
    TinyCluster cluster;
    for (int node = *rc::gen::inRange(1, 3); node > 0; --node) {
        cluster.nodes.push_back({.cpu_milli = *rc::gen::inRange(1, 5) * 1'010,
                                 .memory_mib = *rc::gen::inRange(1, 4) * 700,
                                 .gpus = *rc::gen::inRange(1, 3),
                                 .model = *rc::gen::inRange(0, 2)});
    }
    for (int task = *rc::gen::inRange(1, 7); task > 0; --task)
        cluster.tasks.push_back(any_tiny_task());
    return cluster;
}

}  // namespace tessera
