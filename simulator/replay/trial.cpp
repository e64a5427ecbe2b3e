#include "simulator/replay/trial.hpp"

#include <ranges>

namespace tessera {

Trial::~Trial() {
    for (const One& one : placed_ | std::views::reverse) {
        engine_.take_back(one.node, one.task, one.gpus);
        if (caps_ != nullptr) caps_->remove(one.cap, one.node);
    }
}

void Trial::place(std::size_t node, const PlacementTask& task, GpuSet gpus, const NodeCap& cap) {
    engine_.place(node, task, gpus);
    if (caps_ != nullptr) caps_->add(cap, node);
    placed_.push_back({node, task, gpus, cap});
}

}  // namespace tessera
