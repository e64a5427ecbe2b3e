#include "app/sim/trial.hpp"

#include <ranges>

namespace tessera {

Trial::~Trial() {
    for (const One& one : placed_ | std::views::reverse) {
        fleet_.take_back(one.node, one.task, one.cards);
        if (caps_ != nullptr) caps_->remove(one.cap, one.node);
    }
}

void Trial::place(std::size_t node, const Task& task, CardSet cards, const NodeCap& cap) {
    fleet_.place(node, task, cards);
    if (caps_ != nullptr) caps_->add(cap, node);
    placed_.push_back({node, task, cards, cap});
}

}  // namespace tessera
